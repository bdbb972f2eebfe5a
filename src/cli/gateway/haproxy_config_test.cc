// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/gateway/haproxy_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/gateway/gateway_options.h"

namespace aster::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

GatewayOptions TwoServers() {
  GatewayOptions options;
  options.servers = {"a=10.0.0.1:8080", "b=10.0.0.2:8080"};
  return options;
}

std::string WhyNot(const GatewayOptions& options) {
  const auto plan = options.Plan();
  return plan.ok() ? "it is fine" : plan.error().message();
}

TEST(HaproxyConfig, WordsStandForThemselves) {
  EXPECT_EQ(HaproxyWord("/etc/llm.pem"), "/etc/llm.pem");
  EXPECT_EQ(HaproxyWord("/my keys/$HOME #1\\.pem"), "'/my keys/$HOME #1\\.pem'");
  EXPECT_EQ(HaproxyWord("it's"), "'it'\\''s'");
  EXPECT_EQ(HaproxyWord(""), "''");
}

TEST(HaproxyConfig, EveryServerIsCheckedOnce) {
  const std::string text = HaproxyConfig(*TwoServers().Plan());
  EXPECT_THAT(text, HasSubstr("server a 10.0.0.1:8080 check\n"));
  EXPECT_THAT(text, HasSubstr("server b 10.0.0.2:8080 track answers/b\n"));
  EXPECT_THAT(text, HasSubstr("server b 10.0.0.2:8080 track answers/b cookie b\n"));
  EXPECT_THAT(text, Not(HasSubstr("stick-table type binary")));
}

TEST(HaproxyConfig, CertificatesAreVerified) {
  GatewayOptions options = TwoServers();
  options.servers.push_back("c=https://llm.example.org:8443/");
  options.authorities = "/etc/my ca.pem";
  const std::string text = HaproxyConfig(*options.Plan());
  EXPECT_THAT(text, HasSubstr("server c llm.example.org:8443 ssl verify required ca-file "
                              "'/etc/my ca.pem' sni str(llm.example.org)"));
  options.certificate_name = "other.example.org";
  EXPECT_THAT(HaproxyConfig(*options.Plan()), HasSubstr("verifyhost other.example.org"));
}

TEST(GatewayOptions, WhatHaproxyWouldMisreadIsRefused) {
  EXPECT_THAT(WhyNot({}), HasSubstr("no servers"));
  const std::pair<const char*, const char*> kWrong[] = {
      {"10.0.0.1:8080", "give NAME=HOST:PORT"},
      {"a\nserver=10.0.0.1:8080", "a server's name has letters"},
      {"=10.0.0.1:8080", "a server's name has letters"},
      {"c=10.0.0.3", "is not HOST:PORT"},
      {"c=10.0.0.3:0", "a port from 1 to 65535"},
      {"c=10.0.0.3:70000", "is not HOST:PORT"},
      {"c=a b:80", "no name of a host"},
      {"c=x\n#:80", "no name of a host"},
      {"c=*:80", "no name of a host"},
      {"c=https://10.0.0.3:80", "--cert-name"},
      {"a=10.0.0.3:8080", "two servers are called a"},
      {"c=10.0.0.1:8080", "a and c are the same server"},
  };
  for (const auto& [server, why] : kWrong) {
    GatewayOptions options = TwoServers();
    options.servers.push_back(server);
    const std::string told = WhyNot(options);
    EXPECT_THAT(told, HasSubstr(why)) << server;
    EXPECT_THAT(told, Not(HasSubstr("\n"))) << server;
  }
}

TEST(GatewayOptions, PathsAndSizesAreChecked) {
  const auto why_not = [](auto change) {
    GatewayOptions options = TwoServers();
    change(options);
    return WhyNot(options);
  };
  EXPECT_THAT(why_not([](auto& all) { all.certificate = "a\nb"; }), HasSubstr("--tls-cert"));
  EXPECT_THAT(why_not([](auto& all) { all.socket = "a\rb"; }), HasSubstr("--socket"));
  EXPECT_THAT(why_not([](auto& all) { all.user = "a b"; }), HasSubstr("--user"));
  EXPECT_THAT(why_not([](auto& all) { all.authorities = "ca.pem"; }), HasSubstr("--ca"));
  EXPECT_THAT(why_not([](auto& all) { all.certificate_name = "a b"; }), HasSubstr("--cert-name"));
  EXPECT_THAT(why_not([](auto& all) { all.max_body = "much"; }), HasSubstr("--max-body"));
  EXPECT_THAT(why_not([](auto& all) { all.read = "1KiB"; }), HasSubstr("--read"));
  EXPECT_THAT(why_not([](auto& all) { all.listen = "8080"; }), HasSubstr("--listen"));
  EXPECT_EQ(why_not([](auto& all) { all.listen = ":8080"; }), "it is fine");
  EXPECT_EQ(why_not([](auto& all) { all.listen = "[::]:443"; }), "it is fine");
}

}  // namespace
}  // namespace aster::cli

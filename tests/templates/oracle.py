# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The Python original, configured as the common Python library does for chat templates."""
import datetime
import json
import sys
import warnings

try:
    import jinja2
    import jinja2.ext
    import jinja2.nodes
    import jinja2.sandbox
except ImportError:
    print("skipped: python3-jinja2 is not installed for", sys.executable)
    sys.exit(77)

# The original compiles templates to Python, whose compiler warns about them.
warnings.simplefilter("ignore")

# The result of strftime_now, here and (with TZ=UTC) in the driver.
NOW = 1752486896


class Generation(jinja2.ext.Extension):
    """{% generation %}: marks the model's text; renders its content."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_render")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def strftime_now(format):
    return datetime.datetime.utcfromtimestamp(NOW).strftime(format)


def environment(allow_mutation):
    kind = (jinja2.sandbox.SandboxedEnvironment if allow_mutation
            else jinja2.sandbox.ImmutableSandboxedEnvironment)
    made = kind(trim_blocks=True, lstrip_blocks=True,
                extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = to_json
    made.filters["from_json"] = json.loads
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = strftime_now
    return made


ENVIRONMENTS = {allowed: environment(allowed) for allowed in (False, True)}
COMPILED = {}


def render(template, variables, allow_mutation=False):
    """(text, None) or (None, error)."""
    try:
        key = (template, allow_mutation)
        if key not in COMPILED:
            COMPILED[key] = ENVIRONMENTS[allow_mutation].from_string(template)
        text = COMPILED[key].render(**variables)
        text.encode("utf-8")
        return text, None
    except RecursionError as error:
        return None, "recursion: " + str(error)
    except Exception as error:  # any error of the template
        return None, f"{type(error).__name__}: {error}"

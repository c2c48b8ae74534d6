"""Templates: saved prompts, each a Markdown file with a small head.

    template = load_template(places, "translate")
    prompt = fill_template(template, {"lang": "de"}, text)

The owner's lie in <home>/templates, claw's own in shipped/ beside this
file; the owner's goes first where both have a name.
"""

from claw.wiring.templates.files import (
    Found,
    find_template,
    is_own,
    list_templates,
    load_template,
    own_path,
    remove_template,
    save_template,
)
from claw.wiring.templates.head import parse_template
from claw.wiring.templates.template import (
    Template,
    fill_system,
    fill_template,
)

__all__ = ["Found", "Template", "fill_system", "fill_template",
           "find_template", "is_own", "list_templates", "load_template",
           "own_path", "parse_template", "remove_template", "save_template"]

"""How it ends: one real answer, and what to do next."""

from claw.config.tree import Tree
from claw.providers.factory import OFFLINE
from claw.wiring.ask.answer import answer
from claw.wiring.ask.question import Question
from claw.wiring.channels.names import list_configured
from claw.wiring.models.providers import build_providers

QUESTION = "Say hello to your owner in one short sentence."
_SECONDS = 120.0


def has_model(tree: Tree) -> bool:
    """Whether a model would be asked."""
    return build_providers(tree).choose().provider_name != OFFLINE


def ask_once(tree: Tree) -> str:
    """What the model of these settings says. Raises what asking it
    raises."""
    found = answer(tree, Question(QUESTION, keep=False, use_memory=False,
                                  timeout_s=_SECONDS))
    return str(found["text"]).strip()


def list_next(tree: Tree, *, model: bool, answers: bool, service: bool
              ) -> list[str]:
    """Three commands that are worth typing now. `answers` False: the model
    was asked and gave no answer."""
    return [
        "claw provider test" if not answers else
        "claw agent" if model else 'claw ask "what is 6 * 7?"',
        "claw status" if service else
        "claw listen" if list_configured(tree) else
        "claw channel setup" if model else
        'claw memory store tea "Mina likes green tea"',
        "claw doctor"]

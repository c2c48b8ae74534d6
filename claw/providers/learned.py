"""What models at one address refuse: learned once, remembered for all."""

from claw.core.value import replace
from claw.providers.connection import Facts, KeepsFacts
from claw.providers.refusals import Feature, Refused


class Learned:
    """Facts of the models at `address`; `keeper` remembers them from one
    process to the next, and is asked at the first use of a model."""

    def __init__(self, address: str, keeper: KeepsFacts | None = None
                 ) -> None:
        self._address = address.partition("?")[0]
        self._keeper = keeper
        self._known: dict[str, Facts] = {}

    def facts(self, model: str) -> Facts:
        known = self._known.get(model)
        if known is None:
            known = self._keeper.facts(self._address, model) \
                if self._keeper else Facts()
            self._known[model] = known
        return known

    def without(self, model: str) -> set[Feature]:
        """The parts of a request to leave out, a copy."""
        known = self.facts(model)
        found = set(known.without)
        if known.native_tools is False:
            found.add("tools")
        return found

    def add(self, model: str, refused: Refused) -> None:
        """Remember a refusal that will come again."""
        known = self.facts(model)
        if not refused.lasting or refused.feature in known.without:
            return
        known = replace(
            known, without=tuple(sorted({*known.without, refused.feature})),
            native_tools=False if refused.feature == "tools"
            else known.native_tools, checked_at="")
        self._known[model] = known
        if self._keeper:
            self._keeper.learn(self._address, model, known)

"""What models at one address refuse: learned once, remembered for all."""

from claw.core.value import replace
from claw.providers.catalog.info import KeepsModelInfo, ModelInfo
from claw.providers.wire.refusals import Feature, Refusal


class UnsupportedFeatures:
    """What the models at `address`; `keeper` remembers them from one
    process to the next, and is asked at the first use of a model."""

    def __init__(self, address: str, keeper: KeepsModelInfo | None = None
                 ) -> None:
        self._address = address.partition("?")[0]
        self._keeper = keeper
        self._known: dict[str, ModelInfo] = {}

    def find(self, model: str) -> ModelInfo:
        known = self._known.get(model)
        if known is None:
            known = self._keeper.find(self._address, model) \
                if self._keeper else ModelInfo()
            self._known[model] = known
        return known

    def without(self, model: str) -> set[Feature]:
        """The parts of a request to leave out, a copy."""
        known = self.find(model)
        found = set(known.without)
        if known.native_tools is False:
            found.add("tools")
        return found

    def add(self, model: str, refusal: Refusal) -> None:
        """Remember a refusal that will come again."""
        known = self.find(model)
        if not refusal.lasting or refusal.feature in known.without:
            return
        known = replace(
            known, without=tuple(sorted({*known.without, refusal.feature})),
            native_tools=False if refusal.feature == "tools"
            else known.native_tools, checked_at="")
        self._known[model] = known
        if self._keeper:
            self._keeper.learn(self._address, model, known)

"""Parameters of scores, chosen by judged queries."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


class Tuning:
    """What Index.tune() found.

    measure: its name. points: the trials, dicts of the tuned parameters and value.
    best, start: such dicts of the best point (of equal ones, the start, else the first) and of the start or the index's
    own parameters.
    value: that of the best point. queries: how many counted.
    folds: with cross-validation, a dict for each fold: queries, the parameters that are best on the others, value (on the
    fold) and others (the value there). cross_validated: over all queries, each measured with its fold's parameters; None
    without folds.
    """

    __slots__ = ("best", "cross_validated", "folds", "measure", "parameters", "points", "queries", "start")

    def __init__(self, found: dict[str, Any]) -> None:
        self.measure: str = found["measure"]
        self.parameters: list[str] = found["tuned"]
        self.points: list[dict[str, float]] = [self._shown(point) for point in found["points"]]
        self.best = self._shown(found["best"])
        self.start = self._shown(found["start"])
        self.folds: list[dict[str, Any]] = [
            {"queries": fold["queries"], **self._shown(fold["point"]), "others": fold["others"]} for fold in found["folds"]
        ]
        self.cross_validated: float | None = found["cross_validated"]
        self.queries: int = found["queries"]

    def _shown(self, point: dict[str, float]) -> dict[str, float]:
        return {name: point[name] for name in (*self.parameters, "value")}

    @property
    def value(self) -> float:
        return self.best["value"]

    @property
    def options(self) -> dict[str, float]:
        """The best parameters, as options of search() and batch(): ix.batch(queries, **tuning.options)."""
        return {name: self.best[name] for name in self.parameters}

    def to_frame(self) -> "pandas.DataFrame":
        """A pandas.DataFrame with a row for each trial: the tuned parameters, and the measure."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install pandas; points does without") from error
        return pandas.DataFrame(self.points, columns=[*self.parameters, "value"]).rename(columns={"value": self.measure})

    def __repr__(self):
        parameters = ", ".join(f"{name} {value:g}" for name, value in self.options.items())
        return f"<quern.Tuning: {self.measure} {self.value:.4f} with {parameters}>"

"""Data frames whose columns have one of several names."""


def rows_of(frame, what, *names):
    """The values of columns, row by row. Each column has one of several names; `what` names the frame in messages."""
    columns = []
    for alternatives in names:
        found = [name for name in alternatives if name in frame.columns]
        if not found:
            known = ", ".join(map(str, frame.columns))
            raise ValueError(f"{what} has no column {' or '.join(alternatives)}; its columns: {known}")
        columns.append(frame[found[0]])
    return zip(*columns)

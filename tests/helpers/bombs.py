"""Files of a few KB that unpack to gigabytes."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def bomb(path, rows=1, size=300 << 20, column="text", **options):
    """A parquet file of some KB: zeros of `size` bytes in all."""
    schema = pa.schema([(column, pa.string()), ("id", pa.string())])
    text = "a" * (size // rows)
    with pq.ParquetWriter(path, schema, compression="zstd", **options) as file:
        for row in range(rows):
            file.write_table(pa.table([[text], [str(row)]], schema=schema))
    return path


def repeated(path):
    """One text of a megabyte, said four thousand times: the dictionary holds it once."""
    texts = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(4_000, np.int32)), pa.array(["a" * (1 << 20)])
    )
    pq.write_table(pa.table({"text": texts}), path)
    return path


BOMBS = {
    "one text": lambda path: bomb(path),
    "many texts": lambda path: bomb(path, rows=16),
    "many row groups": lambda path: bomb(path, rows=64, size=1 << 30),
    "another column": lambda path: bomb(path, column="completion"),
    "a text said again and again": repeated,
}

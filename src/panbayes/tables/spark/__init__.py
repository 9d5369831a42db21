"""Tables that Spark counts: records are encoded and counted by our own code, in Spark's workers.

Everything is ``DataFrame.mapInArrow``, which classic Spark and Spark Connect both have. Records become *coded blocks*
(:mod:`panbayes.tables.spark.blocks`): of Parquet files that the workers read themselves or of the batches of a data
frame (:mod:`panbayes.tables.spark.coding`); under a privacy unit each person's first records are cut out of them
(:mod:`panbayes.tables.spark.cutting`); a question is put to every block, and its answers add up
(:mod:`panbayes.tables.spark.questions`). :class:`~panbayes.tables.spark.counter.SparkCounter` asks.
"""

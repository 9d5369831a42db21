from pyspark.sql import SparkSession as SparkSession

class StorageLevel:
    MEMORY_AND_DISK: StorageLevel

class SparkContext:
    def setLogLevel(self, logLevel: str) -> None: ...

from collections.abc import Mapping

class DataDescriber:
    def __init__(self, *, category_threshold: int = ...) -> None: ...
    def describe_dataset_in_correlated_attribute_mode(
        self,
        dataset_file: str,
        *,
        k: int = ...,
        epsilon: float = ...,
        attribute_to_datatype: Mapping[str, str] | None = ...,
        attribute_to_is_categorical: Mapping[str, bool] | None = ...,
        attribute_to_is_candidate_key: Mapping[str, bool] | None = ...,
        seed: int = ...,
    ) -> None: ...

"""Functions of Spark that a statement may call, and those that it cannot, with the reason."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTIONS = _names("""
    coalesce if ifnull nvl nvl2 nullif nullifzero zeroifnull greatest least isnull isnotnull isnan nanvl typeof

    abs sign signum ceil ceiling floor round bround truncate pmod mod div negative positive sqrt cbrt exp expm1 ln log
    log10 log1p log2 pow power sin cos tan cot sec csc asin acos atan atan2 sinh cosh tanh asinh acosh atanh degrees
    radians pi e hypot rint factorial hex unhex bin conv width_bucket bit_count bit_get getbit shiftleft shiftright
    shiftrightunsigned try_add try_subtract try_multiply try_divide try_mod try_to_number to_number

    length len char_length character_length octet_length bit_length lower lcase upper ucase initcap ltrim rtrim btrim
    lpad rpad left right substr substring substring_index locate instr charindex concat concat_ws replace translate
    overlay reverse split split_part startswith endswith contains ascii char chr soundex levenshtein regexp_extract
    regexp_extract_all regexp_replace regexp_substr regexp_instr regexp_count regexp_like regexp rlike like ilike
    base64 unbase64 encode decode try_validate_utf8 make_valid_utf8 is_valid_utf8 luhn_check mask elt find_in_set
    sentences to_char to_varchar parse_url try_parse_url url_encode url_decode try_url_decode quote

    md5 sha sha1 sha2 crc32 hash xxhash64

    date year quarter month day dayofmonth dayofweek dayofyear weekday weekofyear hour minute second date_part datepart
    date_trunc trunc date_add dateadd date_sub datediff date_diff add_months months_between last_day next_day dayname
    monthname make_date make_timestamp make_timestamp_ntz make_timestamp_ltz make_interval make_dt_interval
    make_ym_interval to_date to_timestamp to_timestamp_ntz to_timestamp_ltz try_to_timestamp try_to_date unix_date
    unix_seconds unix_millis unix_micros to_unix_timestamp from_unixtime timestamp_seconds timestamp_millis
    timestamp_micros date_from_unix_date date_format from_utc_timestamp to_utc_timestamp convert_timezone window
    timestampadd timestampdiff timestamp

    from_json to_json get_json_object json_tuple json_array_length json_object_keys schema_of_json from_csv to_csv
    parse_json try_parse_json variant_get try_variant_get is_variant_null to_variant_object

    array array_contains array_distinct array_except array_intersect array_union array_join array_max array_min
    array_position array_prepend array_append array_remove array_compact array_size array_sort arrays_overlap
    arrays_zip sort_array size cardinality element_at try_element_at get slice flatten exists forall any filter
    transform aggregate reduce zip_with map map_concat map_contains_key map_entries map_filter map_from_arrays
    map_from_entries map_keys map_values map_zip_with transform_keys transform_values str_to_map struct named_struct

    explode explode_outer posexplode posexplode_outer inline inline_outer

    bigint binary boolean decimal double float int smallint string tinyint
""")
"""Functions whose result depends on their arguments alone, and is bounded by the size of these."""

_PATTERN = """
    regexp_extract regexp_extract_all regexp_replace regexp_substr regexp_instr regexp_count regexp_like regexp rlike
    split
"""
PATTERNS = {name: slice(1, 2) for name in _names(_PATTERN)} | {"str_to_map": slice(1, 3)}
"""Functions with regular expressions, and which of their arguments these are."""

LIKES = _names("like ilike")
"""Functions with a pattern as LIKE has it."""

LENGTHS = {"lpad": 1, "rpad": 1}
"""Functions whose result is as long as an argument says."""

CHANGING = _names("""
    now current_timestamp current_date curdate localtimestamp current_time unix_timestamp rand randn random uuid shuffle
    randstr uniform monotonically_increasing_id spark_partition_id input_file_name
""")
"""Functions that give something else each time, so that a batch that is read again would give other rows."""

WITHOUT_PARENTHESES = _names("""
    current_date current_timestamp current_time localtimestamp current_user user session_user current_catalog
    current_database current_schema grouping__id
""")
"""Names that Spark takes for calls where there is no such column."""

AGGREGATES = _names("""
    count sum avg mean min max first last any_value collect_list collect_set array_agg listagg string_agg stddev
    variance percentile percentile_approx approx_percentile approx_count_distinct median mode max_by min_by bool_and
    bool_or every some count_if corr row_number rank dense_rank lag lead ntile session_window stddev_pop stddev_samp std
    var_pop var_samp covar_pop covar_samp skewness kurtosis try_sum try_avg bit_and bit_or bit_xor
""")
"""Functions over several records."""

STATE_AGGREGATES = _names("""
    count count_if sum avg mean min max try_sum try_avg bool_and bool_or every some bit_and bit_or bit_xor max_by min_by
    approx_count_distinct percentile_approx approx_percentile stddev stddev_pop stddev_samp std variance var_pop
    var_samp corr covar_pop covar_samp skewness kurtosis
""")
"""Functions over records whose memory does not grow with their number, and whose result is that of any order."""

"""Functions whose counterpart is one expression (Trino documentation, Functions and operators).

The approximations are computed exactly, which lies within Trino's error.
"""

from frazil.sql.translation.signatures import declared

SCALARS = declared(
    r"""
    e() -> double = exp(1.0::DOUBLE)
    exp(double) -> double = exp({0})
    infinity() -> double = 'inf'::DOUBLE
    is_finite(double) -> boolean = isfinite({0})
    is_infinite(double) -> boolean = isinf({0})
    is_nan(double) -> boolean = isnan({0})
    ln(double) -> double = ln({0})
    log(double, double) -> double = (ln({1}) / ln({0}))
    log10(double) -> double = log10({0})
    log2(double) -> double = log2({0})
    nan() -> double = 'nan'::DOUBLE
    pi() -> double = pi()
    pow(double, double) -> double = pow({0}, {1})
    power(double, double) -> double = pow({0}, {1})
    sqrt(double) -> double = CASE WHEN {0} < 0 THEN 'nan'::DOUBLE ELSE sqrt({0}) END
    bitwise_and(bigint, bigint) -> bigint = ({0} & {1})
    bitwise_or(bigint, bigint) -> bigint = ({0} | {1})
    bitwise_xor(bigint, bigint) -> bigint = xor({0}, {1})
    bitwise_not(bigint) -> bigint = (~{0})

    chr(bigint) -> varchar = chr(CAST({0} AS INTEGER))
    concat_ws(varchar, varchar...) -> varchar = concat_ws({all})
    ends_with(varchar, varchar) -> boolean = ends_with({0}, {1})
    from_base64(varchar) -> varbinary = from_base64({0})
    from_hex(varchar) -> varbinary = unhex({0})
    from_utf8(varbinary) -> varchar = TRY(decode({0}))
    length(varchar) -> bigint = length({0})
    length(varbinary) -> bigint = octet_length({0})
    levenshtein_distance(varchar, varchar) -> bigint = levenshtein({0}, {1})
    lower(varchar) -> varchar = lower({0})
    lpad(varchar, bigint, varchar) -> varchar = lpad({0}, CAST({1} AS INTEGER), {2})
    ltrim(varchar) -> varchar = ltrim({0}, frazil_spaces())
    ltrim(varchar, varchar) -> varchar = ltrim({0}, {1})
    md5(varbinary) -> varbinary = unhex(md5({0}))
    replace(varchar, varchar) -> varchar = replace({0}, {1}, '')
    replace(varchar, varchar, varchar) -> varchar = frazil_replace({0}, {1}, {2})
    reverse(varchar) -> varchar = frazil_reverse({0})
    reverse(array(T)) -> array(T) = list_reverse({0})
    rpad(varchar, bigint, varchar) -> varchar = rpad({0}, CAST({1} AS INTEGER), {2})
    rtrim(varchar) -> varchar = rtrim({0}, frazil_spaces())
    rtrim(varchar, varchar) -> varchar = rtrim({0}, {1})
    sha1(varbinary) -> varbinary = unhex(sha1({0}))
    sha256(varbinary) -> varbinary = unhex(sha256({0}))
    split(varchar, varchar) -> array(varchar) = frazil_split({0}, {1})
    split_part(varchar, varchar, bigint) -> varchar = frazil_split_part({0}, {1}, {2})
    starts_with(varchar, varchar) -> boolean = starts_with({0}, {1})
    strpos(varchar, varchar) -> bigint = CASE WHEN {1} = '' AND {0} IS NOT NULL THEN 1 ELSE strpos({0}, {1}) END
    substr(varchar, bigint) -> varchar = frazil_substr({0}, {1}, 2147483647)
    substr(varchar, bigint, bigint) -> varchar = frazil_substr({0}, {1}, {2})
    substr(varbinary, bigint) -> varbinary = frazil_bytes({0}, {1}, 2147483647)
    substr(varbinary, bigint, bigint) -> varbinary = frazil_bytes({0}, {1}, {2})
    substring(varchar, bigint) -> varchar = frazil_substr({0}, {1}, 2147483647)
    substring(varchar, bigint, bigint) -> varchar = frazil_substr({0}, {1}, {2})
    substring(varbinary, bigint) -> varbinary = frazil_bytes({0}, {1}, 2147483647)
    substring(varbinary, bigint, bigint) -> varbinary = frazil_bytes({0}, {1}, {2})
    to_base64(varbinary) -> varchar = to_base64({0})
    to_hex(varbinary) -> varchar = hex({0})
    to_utf8(varchar) -> varbinary = encode({0})
    translate(varchar, varchar, varchar) -> varchar = translate({0}, {1}, {2})
    trim(varchar) -> varchar = trim({0}, frazil_spaces())
    trim(varchar, varchar) -> varchar = trim({0}, {1})
    upper(varchar) -> varchar = frazil_upper({0})

    regexp_count(varchar, varchar) -> bigint = len(regexp_extract_all({0}, {1}))
    regexp_extract(varchar, varchar) -> varchar = regexp_extract_all({0}, {1})[1]
    regexp_extract(varchar, varchar, bigint) -> varchar = regexp_extract_all({0}, {1}, CAST({2} AS INTEGER))[1]
    regexp_extract_all(varchar, varchar) -> array(varchar) = regexp_extract_all({0}, {1})
    regexp_extract_all(varchar, varchar, bigint) -> array(varchar) = regexp_extract_all({0}, {1}, CAST({2} AS INTEGER))
    regexp_like(varchar, varchar) -> boolean = regexp_matches({0}, {1})
    regexp_split(varchar, varchar) -> array(varchar) = regexp_split_to_array({0}, {1})

    json_format(json) -> varchar = {0}
    json_parse(varchar) -> json = frazil_json_parse({0})
    json_array_length(varchar) -> bigint = frazil_json_array_length({0})
    json_array_length(json) -> bigint = frazil_json_array_length({0})

    array_distinct(array(T)) -> array(T) = list_filter({0}, lambda x, i: list_position({0}, x) = i)
    array_max(array(T)) -> T = CASE WHEN len(list_filter({0}, lambda x: x IS NULL)) = 0 THEN list_max({0}) END
    array_min(array(T)) -> T = CASE WHEN len(list_filter({0}, lambda x: x IS NULL)) = 0 THEN list_min({0}) END
    array_position(array(T), T) -> bigint = frazil_position({0}, {1})
    array_sort(array(T)) -> array(T) = list_sort({0}, 'ASC', 'NULLS LAST')
    cardinality(array(T)) -> bigint = CAST(len({0}) AS BIGINT)
    cardinality(map(K,V)) -> bigint = CAST(len(map_keys({0})) AS BIGINT)
    contains(array(T), T) -> boolean = frazil_contains({0}, {1})
    element_at(array(T), bigint) -> T = frazil_element({0}, {1})
    element_at(map(K,V), K) -> V = ({0})[{1}]
    flatten(array(array(T))) -> array(T) = flatten({0})
    map(array(K), array(V)) -> map(K,V) = map({0}, {1})
    map_keys(map(K,V)) -> array(K) = map_keys({0})
    map_values(map(K,V)) -> array(V) = map_values({0})
    sequence(bigint, bigint) -> array(bigint) = frazil_sequence({0}, {1})
    """
)

AGGREGATES = declared(
    """
    any_value(T) -> T = any_value({0})
    approx_distinct(T) -> bigint = count(DISTINCT {0})
    arbitrary(T) -> T = any_value({0})
    array_agg(T) -> array(T) = list({0})
    avg(bigint) -> double = avg({0})
    avg(double) -> double = avg({0})
    bool_and(boolean) -> boolean = bool_and({0})
    bool_or(boolean) -> boolean = bool_or({0})
    count(T) -> bigint = count({0})
    count_if(boolean) -> bigint = count(CASE WHEN {0} THEN 1 END)
    every(boolean) -> boolean = bool_and({0})
    max(double) -> double = max(frazil_number({0}))
    max(T) -> T = max({0})
    max_by(T, U) -> T = arg_max_null({0}, {1})
    min(double) -> double = min(frazil_number({0}))
    min(T) -> T = min({0})
    min_by(T, U) -> T = arg_min_null({0}, {1})
    stddev(double) -> double = stddev_samp({0})
    stddev_pop(double) -> double = stddev_pop({0})
    stddev_samp(double) -> double = stddev_samp({0})
    sum(bigint) -> bigint = CAST(\x01sum({0})\x02 AS BIGINT)
    sum(double) -> double = sum({0})
    var_pop(double) -> double = var_pop({0})
    var_samp(double) -> double = var_samp({0})
    variance(double) -> double = var_samp({0})
    """
)

WINDOWS = declared(
    """
    cume_dist() -> double = cume_dist()
    dense_rank() -> bigint = dense_rank()
    first_value(T) -> T = first_value({0})
    lag(T) -> T = lag({0})
    lag(T, bigint) -> T = lag({0}, {1})
    lag(T, bigint, T) -> T = lag({0}, {1}, {2})
    last_value(T) -> T = last_value({0})
    lead(T) -> T = lead({0})
    lead(T, bigint) -> T = lead({0}, {1})
    lead(T, bigint, T) -> T = lead({0}, {1}, {2})
    nth_value(T, bigint) -> T = nth_value({0}, {1})
    ntile(bigint) -> bigint = ntile({0})
    percent_rank() -> double = percent_rank()
    rank() -> bigint = rank()
    row_number() -> bigint = row_number()
    """
)

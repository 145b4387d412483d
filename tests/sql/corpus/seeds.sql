-- live: snapshots as they are
SELECT * FROM kafkawarehouse.querytests."apilogs$snapshots";

-- live: history as it is
SELECT * FROM kafkawarehouse.querytests."apilogs$history";

-- live: refs as they are
SELECT * FROM "apilogs$refs";

-- live: manifests as they are
SELECT * FROM "auditlogs$manifests";

-- live: files as they are
SELECT content, file_path, file_format, spec_id, partition, record_count, file_size_in_bytes, column_sizes, value_counts, null_value_counts, nan_value_counts, lower_bounds, upper_bounds, key_metadata, split_offsets, equality_ids, sort_order_id FROM "auditlogs$files";

-- live: metrics of files
SELECT readable_metrics FROM "errorlogs$files";

-- live: partitions as they are
SELECT * FROM "apilogs$partitions";

-- live: properties as they are
SELECT * FROM "apilogs$properties";

-- live: metadata log entries as they are
SELECT * FROM "apilogs$metadata_log_entries";

-- live: path, partition and time of files
SELECT DISTINCT "$path", "$partition", "$file_modified_time" FROM apilogs;

-- files of a category
SELECT "$partition", count(*), min(message) FROM auditlogs WHERE "$path" LIKE '%/category=user/%' GROUP BY 1 ORDER BY 1;

-- seed: tables in the namespace
SHOW TABLES FROM kafkawarehouse.querytests;

-- seed: rows
SELECT * FROM kafkawarehouse.querytests.apilogs ORDER BY object LIMIT 10;

-- seed: calls by bucket
SELECT
    bucket,
    name,
    time,
    "callInfo"."httpStatusCode" as status,
    "callInfo"."sourceHost" as client_ip
FROM kafkawarehouse.querytests.apilogs
WHERE bucket IS NOT NULL
ORDER BY time DESC, object
LIMIT 20;

-- seed: calls by name
SELECT name, COUNT(*) as count
FROM kafkawarehouse.querytests.apilogs
GROUP BY name
ORDER BY count DESC;

-- seed: errors
SELECT time, message, "apiName"
FROM kafkawarehouse.querytests.errorlogs
ORDER BY time DESC, message
LIMIT 10;

-- seed: audit records by category
SELECT category, action, time, "accessKey"
FROM kafkawarehouse.querytests.auditlogs
WHERE category = 'bucket'
ORDER BY time DESC, message
LIMIT 10;

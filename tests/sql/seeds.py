"""Statements that a new user runs first."""

from __future__ import annotations

STATEMENTS = """
-- List available catalogs
SHOW CATALOGS;

-- List schemas in the warehouse
SHOW SCHEMAS FROM kafkawarehouse;

-- List tables in the streaming namespace
SHOW TABLES FROM kafkawarehouse.streaming;

-- Query API logs
SELECT * FROM kafkawarehouse.streaming.apilogs LIMIT 10;

-- Query API logs by bucket with nested field access
SELECT
    bucket,
    name,
    time,
    "callInfo"."httpStatusCode" as status,
    "callInfo"."sourceHost" as client_ip
FROM kafkawarehouse.streaming.apilogs
WHERE bucket IS NOT NULL
ORDER BY time DESC
LIMIT 20;

-- Count requests by API name
SELECT name, COUNT(*) as count
FROM kafkawarehouse.streaming.apilogs
GROUP BY name
ORDER BY count DESC;

-- Query error logs
SELECT time, message, "apiName"
FROM kafkawarehouse.streaming.errorlogs
ORDER BY time DESC
LIMIT 10;

-- Query audit logs by category
SELECT category, action, time, "accessKey"
FROM kafkawarehouse.streaming.auditlogs
WHERE category = 'bucket'
ORDER BY time DESC
LIMIT 10;

-- View table metadata (snapshots)
SELECT * FROM kafkawarehouse.streaming."apilogs$snapshots";

-- View table history
SELECT * FROM kafkawarehouse.streaming."apilogs$history";
"""

-- A ledger that an earlier version began, in DuckDB, gets the columns that it lacks. What was recorded keeps its order.
ALTER TABLE duckanon.releases ADD COLUMN IF NOT EXISTS recorded BIGINT;
ALTER TABLE duckanon.releases ADD COLUMN IF NOT EXISTS started_at TIMESTAMP;
ALTER TABLE duckanon.releases ADD COLUMN IF NOT EXISTS policy_text VARCHAR;
ALTER TABLE duckanon.releases ADD COLUMN IF NOT EXISTS shows VARCHAR;
ALTER TABLE duckanon.releases ADD COLUMN IF NOT EXISTS warnings VARCHAR;
ALTER TABLE duckanon.releases ADD COLUMN IF NOT EXISTS release_fingerprint VARCHAR;
UPDATE duckanon.releases SET recorded = rowid + 1 WHERE recorded IS NULL;

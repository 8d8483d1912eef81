-- The ledger: what every run of duckanon did, for the auditor and for the next run. Plain tables, in the warehouse or in a file
-- of their own ([ledger] database). One row per run, also for one that could not start or had nothing to do; dry runs leave
-- none, and a first run that fails does not begin a ledger. No row of a person and no quasi-identifier is ever written here.
-- NULL: the run ended before that was known, or an earlier version wrote the row.

CREATE TABLE IF NOT EXISTS duckanon.releases (
    id VARCHAR NOT NULL,
    finished_at TIMESTAMP NOT NULL,
    policy VARCHAR NOT NULL,
    outcome VARCHAR NOT NULL,
    warehouse VARCHAR,
    target_kind VARCHAR NOT NULL,
    target_place VARCHAR NOT NULL,
    method VARCHAR NOT NULL,
    levels VARCHAR,
    rows_source BIGINT,
    rows_released BIGINT,
    rows_suppressed BIGINT,
    classes BIGINT,
    ncp DOUBLE,
    precision DOUBLE,
    discernibility DOUBLE,
    seconds DOUBLE NOT NULL,
    policy_hash VARCHAR NOT NULL,
    hierarchy_hash VARCHAR,
    source_fingerprint VARCHAR,
    version VARCHAR NOT NULL,
    message VARCHAR,
    recorded BIGINT,
    started_at TIMESTAMP,
    policy_text VARCHAR,
    shows VARCHAR,
    warnings VARCHAR,
    release_fingerprint VARCHAR
);

CREATE TABLE IF NOT EXISTS duckanon.release_constraints (
    release_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    column_name VARCHAR,
    value VARCHAR,
    threshold DOUBLE,
    measured DOUBLE,
    holds BOOLEAN NOT NULL
);

COMMENT ON TABLE duckanon.releases IS 'The ledger of duckanon: one row per run; dry runs leave none';
COMMENT ON COLUMN duckanon.releases.id IS 'names the run';
COMMENT ON COLUMN duckanon.releases.finished_at IS 'when the run ended, UTC';
COMMENT ON COLUMN duckanon.releases.policy IS 'name of the policy';
COMMENT ON COLUMN duckanon.releases.outcome IS 'released | unchanged | infeasible | violated | error | interrupted; only released wrote anything';
COMMENT ON COLUMN duckanon.releases.warehouse IS 'the database file that the source was read from; NULL: none';
COMMENT ON COLUMN duckanon.releases.target_kind IS 'table | view | parquet | csv';
COMMENT ON COLUMN duckanon.releases.target_place IS 'name of the relation, or path of the file';
COMMENT ON COLUMN duckanon.releases.method IS 'how the levels were searched for';
COMMENT ON COLUMN duckanon.releases.levels IS 'JSON: level of generalization per quasi-identifier; NULL with local recoding';
COMMENT ON COLUMN duckanon.releases.rows_source IS 'rows of the source';
COMMENT ON COLUMN duckanon.releases.rows_released IS 'rows of the release';
COMMENT ON COLUMN duckanon.releases.rows_suppressed IS 'rows left out';
COMMENT ON COLUMN duckanon.releases.classes IS 'equivalence classes of the release';
COMMENT ON COLUMN duckanon.releases.ncp IS 'normalized certainty penalty: 0 nothing lost, 1 everything';
COMMENT ON COLUMN duckanon.releases.precision IS 'precision: 1 nothing lost, 0 everything';
COMMENT ON COLUMN duckanon.releases.discernibility IS 'discernibility: sum of the squared class sizes, suppressed rows counted with the source';
COMMENT ON COLUMN duckanon.releases.seconds IS 'how long the run took';
COMMENT ON COLUMN duckanon.releases.policy_hash IS 'SHA-256 of what the policy asks for, wherever its file lies';
COMMENT ON COLUMN duckanon.releases.hierarchy_hash IS 'SHA-256 of what the hierarchies say: files, mapping tables, parameters';
COMMENT ON COLUMN duckanon.releases.source_fingerprint IS 'SHA-256 over columns, row count and row hashes of the source, whatever the order of the rows';
COMMENT ON COLUMN duckanon.releases.version IS 'version of duckanon';
COMMENT ON COLUMN duckanon.releases.message IS 'why there is no release, or how many rows an incremental one added; never a value of a row';
COMMENT ON COLUMN duckanon.releases.recorded IS 'which row of the ledger this is: 1, 2, …; the order of the runs, whatever the clocks say';
COMMENT ON COLUMN duckanon.releases.started_at IS 'when the run began, UTC';
COMMENT ON COLUMN duckanon.releases.policy_text IS 'the policy as it was run: its file, or what it says with the overrides of the command';
COMMENT ON COLUMN duckanon.releases.shows IS 'JSON: what the level of each quasi-identifier shows, in words and by its rule; NULL with local recoding';
COMMENT ON COLUMN duckanon.releases.warnings IS 'JSON: what a person should be told of the run; never a value of a row';
COMMENT ON COLUMN duckanon.releases.release_fingerprint IS 'SHA-256 of what was released: of the rows of a relation, or of the bytes of the files';

COMMENT ON TABLE duckanon.release_constraints IS 'The ledger of duckanon: every constraint of a run, with what was measured';
COMMENT ON COLUMN duckanon.release_constraints.release_id IS 'the run: duckanon.releases.id';
COMMENT ON COLUMN duckanon.release_constraints.name IS 'k, distinct_l, entropy_l, recursive, t, alpha, alp, dif, value_l, level_l, level_alpha, level_weight, proximity';
COMMENT ON COLUMN duckanon.release_constraints.column_name IS 'the sensitive column; NULL: the constraint is one of the table';
COMMENT ON COLUMN duckanon.release_constraints.value IS 'the sensitive value or level that the policy names; NULL: all of the column';
COMMENT ON COLUMN duckanon.release_constraints.threshold IS 'what the policy asks for';
COMMENT ON COLUMN duckanon.release_constraints.measured IS 'what was found in the release, or at best when there is none; NULL: no figure';
COMMENT ON COLUMN duckanon.release_constraints.holds IS 'whether it holds';

-- The schema of a new store. Times are fixed-width UTC text, values are JSON text; see docs/reference/schema.md.
-- The columns up to each blank line are those of dura 1.3.0; an upgraded 1.3.0 file has the same columns without the
-- CHECKs, which invariants.py asks as queries on both kinds. No CHECK says IN: for a list of three or more, SQLite builds a
-- table in memory each time a row is written.

CREATE TABLE tasks (                                   -- the intent: one row a task
    task_id           TEXT PRIMARY KEY,
    task_name         TEXT NOT NULL,
    params            TEXT NOT NULL,                   -- JSON
    state             TEXT NOT NULL,                   -- always the state of the latest run
    attempts          INTEGER NOT NULL DEFAULT 0,      -- the latest run's attempt
    max_attempts      INTEGER,                         -- NULL: no limit
    retry_strategy    TEXT,                            -- JSON of RetryStrategy; NULL: no delay
    enqueue_at        TEXT NOT NULL,
    first_started_at  TEXT,
    last_attempt_run  TEXT,                            -- the latest run
    completed_payload TEXT,                            -- JSON: what the handler returned
    terminal_at       TEXT,                            -- when it became terminal
    idempotency_key   TEXT,                            -- unique, by the index below; 1.3.0: by a UNIQUE here

    queue             TEXT NOT NULL DEFAULT 'default',
    steps             TEXT,                            -- JSON list of declared step names, for progress
    max_reclaims      INTEGER,                         -- NULL: a lease may run out any number of times

    CHECK (state = 'pending' OR state = 'running' OR state = 'sleeping'
        OR state = 'completed' OR state = 'failed' OR state = 'cancelled'),
    CHECK ((terminal_at IS NOT NULL) = (state = 'completed' OR state = 'failed' OR state = 'cancelled')),
    CHECK ((completed_payload IS NOT NULL) = (state = 'completed')),
    CHECK (attempts >= 1),
    CHECK (max_attempts IS NULL OR attempts <= max_attempts),
    CHECK (max_reclaims IS NULL OR max_reclaims >= 0)
) STRICT;

-- Which task has this key? A UNIQUE column would index the tasks without one too, a page more to write at each spawn.
CREATE UNIQUE INDEX tasks_key ON tasks (idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE runs (                                    -- one row an attempt
    run_id           TEXT PRIMARY KEY,
    task_id          TEXT NOT NULL,
    attempt          INTEGER NOT NULL,                 -- from 1
    state            TEXT NOT NULL,
    claimed_by       TEXT,                             -- the worker; stays after settling, as history
    claim_expires_at TEXT,                             -- when the lease runs out; only while running
    available_at     TEXT NOT NULL,                    -- since when claimable, or when a sleeper is due
    wake_event       TEXT,                             -- the event it sleeps on; only while sleeping
    event_payload    TEXT,                             -- 1.3.0 delivered payloads here; unused since
    started_at       TEXT,                             -- first claim
    completed_at     TEXT,
    failed_at        TEXT,
    result           TEXT,                             -- JSON
    failure_reason   TEXT,                             -- JSON
    priority         INTEGER NOT NULL DEFAULT 0,       -- higher is claimed first

    queue            TEXT NOT NULL DEFAULT 'default',
    claim_token      INTEGER NOT NULL DEFAULT 0,       -- the fencing token: raised by every claim
    reclaims         INTEGER NOT NULL DEFAULT 0,       -- leases of this attempt that ran out
    sleep_cause      TEXT,                             -- delay, backoff, event, sleep, deferred; only while sleeping
    deferrals        INTEGER NOT NULL DEFAULT 0,       -- times put back by a worker that has no handler for it

    UNIQUE (task_id, attempt),                         -- and what belongs to this task; 1.3.0: runs_task_id
    CHECK (attempt >= 1),
    CHECK (state = 'pending' OR state = 'running' OR state = 'sleeping'
        OR state = 'completed' OR state = 'failed' OR state = 'cancelled'),
    CHECK ((claim_expires_at IS NOT NULL) = (state = 'running')),
    CHECK (state != 'running' OR (claimed_by IS NOT NULL AND claim_token > 0 AND started_at IS NOT NULL)),
    CHECK ((sleep_cause IS NOT NULL) = (state = 'sleeping')),
    CHECK (sleep_cause IS NULL OR sleep_cause = 'delay' OR sleep_cause = 'backoff' OR sleep_cause = 'event'
        OR sleep_cause = 'sleep' OR sleep_cause = 'deferred'),
    CHECK ((wake_event IS NOT NULL) = (sleep_cause IS NOT NULL AND (sleep_cause = 'event' OR sleep_cause = 'sleep'))),
    CHECK (event_payload IS NULL),
    CHECK ((completed_at IS NOT NULL) = (state = 'completed')),
    CHECK ((result IS NOT NULL) = (state = 'completed')),
    CHECK ((failed_at IS NOT NULL) = (state = 'failed')),
    CHECK ((failure_reason IS NOT NULL) = (state = 'failed')),
    CHECK (reclaims >= 0 AND deferrals >= 0)
) STRICT;

CREATE TABLE checkpoints (                             -- the result of a finished step; belongs to the task
    task_id         TEXT NOT NULL,
    checkpoint_name TEXT NOT NULL,
    state           TEXT,                              -- JSON; SQL NULL: a wait that timed out
    owner_run_id    TEXT,                              -- the run that finished it
    updated_at      TEXT NOT NULL,

    PRIMARY KEY (task_id, checkpoint_name)
) STRICT;

CREATE TABLE events (                                  -- first write wins
    event_name TEXT PRIMARY KEY,
    payload    TEXT,                                   -- JSON
    emitted_at TEXT NOT NULL,

    emitted_by TEXT                                    -- the operator; NULL: a program
) STRICT;

CREATE TABLE waits (                                   -- a step that waits; at most one row a step of a task
    run_id     TEXT NOT NULL,                          -- the latest run, moved along by retries
    step_name  TEXT NOT NULL,
    task_id    TEXT NOT NULL,
    event_name TEXT NOT NULL,                          -- dura.sleep: a durable sleep
    timeout_at TEXT,                                   -- the step's deadline, set once; NULL: none

    PRIMARY KEY (run_id, step_name)
) STRICT;

CREATE TABLE state (                                   -- key-value memory that no cleanup touches
    namespace  TEXT NOT NULL,                          -- dura.*: the engine's own (counts, audit, schema)
    key        TEXT NOT NULL,
    value      TEXT NOT NULL,                          -- JSON
    updated_at TEXT NOT NULL,

    PRIMARY KEY (namespace, key)
) STRICT;

-- A program of dura 1.3.0 makes an index of this name before all else when it opens a file. Here it cannot, and stops: it knows
-- neither fencing tokens nor counters.
CREATE VIEW runs_state_available AS SELECT run_id, state, available_at FROM runs;

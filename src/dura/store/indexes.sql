-- Indexes, the same on new and upgraded files. Each index is named after the question that it answers.

-- Which leases have run out? Which sleepers are due? Which pending run is best? One partial index each, so that a claim
-- is three ordered range reads, whatever else the store holds.
CREATE INDEX IF NOT EXISTS runs_running ON runs (claim_expires_at) WHERE state = 'running';
CREATE INDEX IF NOT EXISTS runs_sleeping ON runs (available_at) WHERE state = 'sleeping';
CREATE INDEX IF NOT EXISTS runs_pending ON runs (queue, priority DESC, available_at) WHERE state = 'pending';

-- Which attempts failed lately?
CREATE INDEX IF NOT EXISTS runs_failed ON runs (failed_at) WHERE state = 'failed';

-- Which tasks of a name are alive, and how old is the oldest? (Not by `state`: every claim would write to it.)
CREATE INDEX IF NOT EXISTS tasks_live ON tasks (task_name, enqueue_at) WHERE terminal_at IS NULL;

-- Which tasks ended when (cleanup, throughput, lists by final state)?
CREATE INDEX IF NOT EXISTS tasks_terminal ON tasks (state, terminal_at) WHERE terminal_at IS NOT NULL;

-- Who waits for this event? One wait a step.
CREATE INDEX IF NOT EXISTS waits_event_name ON waits (event_name);
CREATE UNIQUE INDEX IF NOT EXISTS waits_step ON waits (task_id, step_name);

-- Which events are old?
CREATE INDEX IF NOT EXISTS events_emitted ON events (emitted_at);

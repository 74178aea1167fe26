-- Indexes and triggers, the same on new and upgraded files. Each index is named after the question that it answers.

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

-- The fence: a claim that does not raise the token is a 1.3.0 worker's, which knows no tokens.
CREATE TRIGGER IF NOT EXISTS runs_fence BEFORE UPDATE OF state ON runs
WHEN NEW.state = 'running' AND OLD.state != 'running' AND NEW.claim_token <= OLD.claim_token
BEGIN
    SELECT RAISE(ABORT, 'this dura store was upgraded: a worker of dura 1.3.0 cannot claim from it any more. Stop that worker and start it again with the new dura');
END;

-- Tasks by queue, name and state, kept in the namespace dura.counts, so that counting costs the same at any size.
CREATE TRIGGER IF NOT EXISTS tasks_counted AFTER INSERT ON tasks
BEGIN
    INSERT INTO state (namespace, key, value, updated_at)
    VALUES ('dura.counts', json_array(NEW.queue, NEW.task_name, NEW.state), '1', NEW.enqueue_at)
    ON CONFLICT (namespace, key) DO UPDATE SET value = CAST(value + 1 AS TEXT);
END;
CREATE TRIGGER IF NOT EXISTS tasks_recounted AFTER UPDATE OF state ON tasks WHEN NEW.state != OLD.state
BEGIN
    UPDATE state SET value = CAST(value - 1 AS TEXT)
    WHERE namespace = 'dura.counts' AND key = json_array(OLD.queue, OLD.task_name, OLD.state);
    INSERT INTO state (namespace, key, value, updated_at)
    VALUES ('dura.counts', json_array(NEW.queue, NEW.task_name, NEW.state), '1', NEW.enqueue_at)
    ON CONFLICT (namespace, key) DO UPDATE SET value = CAST(value + 1 AS TEXT);
END;
CREATE TRIGGER IF NOT EXISTS tasks_uncounted AFTER DELETE ON tasks
BEGIN
    UPDATE state SET value = CAST(value - 1 AS TEXT)
    WHERE namespace = 'dura.counts' AND key = json_array(OLD.queue, OLD.task_name, OLD.state);
END;

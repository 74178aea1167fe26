-- Triggers of an upgraded file, where programs of dura 1.3.0 may still be at work. They cannot open a store that this dura has
-- made (the view in schema.sql), and so a new file has none of these.

-- The fence: a claim that does not raise the token is a 1.3.0 worker's, which knows no tokens.
CREATE TRIGGER runs_fence BEFORE UPDATE OF state ON runs
WHEN NEW.state = 'running' AND OLD.state != 'running' AND NEW.claim_token <= OLD.claim_token
BEGIN
    SELECT RAISE(ABORT, 'this dura store was upgraded: a worker of dura 1.3.0 cannot claim from it any more. Stop that worker and start it again with the new dura');
END;

-- Tasks by queue, name and state, kept in the namespace dura.counts, so that counting costs the same at any size.
CREATE TRIGGER tasks_counted AFTER INSERT ON tasks
BEGIN
    INSERT INTO state (namespace, key, value, updated_at)
    VALUES ('dura.counts', json_array(NEW.queue, NEW.task_name, NEW.state), '1', NEW.enqueue_at)
    ON CONFLICT (namespace, key) DO UPDATE SET value = CAST(value + 1 AS TEXT);
END;
CREATE TRIGGER tasks_recounted AFTER UPDATE OF state ON tasks WHEN NEW.state != OLD.state
BEGIN
    UPDATE state SET value = CAST(value - 1 AS TEXT)
    WHERE namespace = 'dura.counts' AND key = json_array(OLD.queue, OLD.task_name, OLD.state);
    INSERT INTO state (namespace, key, value, updated_at)
    VALUES ('dura.counts', json_array(NEW.queue, NEW.task_name, NEW.state), '1', NEW.enqueue_at)
    ON CONFLICT (namespace, key) DO UPDATE SET value = CAST(value + 1 AS TEXT);
END;
CREATE TRIGGER tasks_uncounted AFTER DELETE ON tasks
BEGIN
    UPDATE state SET value = CAST(value - 1 AS TEXT)
    WHERE namespace = 'dura.counts' AND key = json_array(OLD.queue, OLD.task_name, OLD.state);
END;

-- Such programs spawn, emit and finish what they hold, and know no sleep causes.
CREATE TRIGGER runs_cause_given AFTER INSERT ON runs WHEN NEW.state = 'sleeping' AND NEW.sleep_cause IS NULL
BEGIN
    UPDATE runs SET sleep_cause = CASE WHEN NEW.attempt > 1 THEN 'backoff' ELSE 'delay' END WHERE run_id = NEW.run_id;
END;
CREATE TRIGGER runs_cause_kept AFTER UPDATE OF state ON runs
WHEN (NEW.state = 'sleeping') != (NEW.sleep_cause IS NOT NULL)
BEGIN
    UPDATE runs SET sleep_cause = CASE WHEN NEW.state != 'sleeping' THEN NULL WHEN NEW.wake_event IS NOT NULL THEN 'event'
        ELSE 'delay' END WHERE run_id = NEW.run_id;
END;

DO $gormflake_stage$
-- Stage STAGE of an online move, whose statements are in table sqlmigrate_online.
-- Between the stages prepare and swap:  COMMAND
-- Until finish, this takes it back:  gormflake migrate online revert
DECLARE
  wanted constant text := 'STAGE';
  tables constant regclass[] := ARRAY[TABLES]::regclass[];
  wide constant boolean := NOT EXISTS (SELECT FROM (VALUES KEYS) AS k (t, c)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = k.t::regclass AND a.attname = k.c WHERE a.atttypid <> 'int8'::regtype);
  journal constant text := (SELECT format('%I.sqlmigrate_online', n.nspname)
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = tables[1]);
  move text;
  plan jsonb;
  steering jsonb;
  back boolean;
  done int;
  stage jsonb;
  step jsonb;
  statement text;
  before int := 0;
  others boolean;
  begun constant timestamptz := clock_timestamp();
  path constant text := current_setting('search_path');
BEGIN
  IF to_regclass(journal) IS NOT NULL THEN
    EXECUTE 'SELECT id FROM ' || journal || ' WHERE EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE c.oid = ANY ($1) AND plan::jsonb -> ''Tables'' @> jsonb_build_array(jsonb_build_object(''Schema'', n.nspname, ''Name'', c.relname)))'
      INTO move USING tables;
  END IF;
  IF move IS NULL THEN
    IF wanted = 'finish' OR wide THEN
      RETURN; -- it has been finished, or the keys have always been wide
    ELSIF wanted = 'swap' THEN
      RAISE EXCEPTION 'gormflake: no online move is under way: run COMMAND first';
    END IF;
    move := 'MOVE';
    EXECUTE 'CREATE TABLE IF NOT EXISTS ' || journal || 'COLUMNS';
    EXECUTE 'INSERT INTO ' || journal || ' (id, plan, began) VALUES ($1, $2, $3)' USING move, 'PLAN', begun;
  END IF;
  IF NOT pg_try_advisory_xact_lock(hashtextextended('gormflake online ' || move, 0)) THEN
    RAISE EXCEPTION 'gormflake: another session carries out the move: wait for it';
  END IF;
  EXECUTE 'SELECT plan::jsonb, steering::jsonb, back, done FROM ' || journal || ' WHERE id = $1' INTO plan, steering, back, done USING move;
  FOR stage IN SELECT * FROM jsonb_array_elements(plan -> 'Stages') LOOP
    EXIT WHEN stage ->> 'Name' = wanted;
    before := before + jsonb_array_length(coalesce(nullif(stage -> 'Steps', 'null'), '[]'));
  END LOOP;
  IF back THEN
    RAISE EXCEPTION 'gormflake: the move is being taken back: run gormflake migrate online revert';
  ELSIF steering ? 'Paused' OR wanted = 'swap' AND steering ? 'HoldSwap' THEN
    RAISE EXCEPTION 'gormflake: the move is paused: run gormflake migrate online resume';
  ELSIF done < before THEN
    RAISE EXCEPTION 'gormflake: % of % steps before stage % are done: run COMMAND first', done, before, wanted;
  ELSIF done < before + jsonb_array_length(stage -> 'Steps') AND stage ->> 'Steps' LIKE '%VALIDATE CONSTRAINT%' THEN
    RAISE EXCEPTION 'gormflake: a foreign key is validated after the swap: run gormflake migrate online apply --until swap';
  END IF;
  LOOP -- all steps, so that none keeps its locks while another waits
    BEGIN
      SET LOCAL lock_timeout = '200ms';
      FOR step IN SELECT * FROM jsonb_array_elements(stage -> 'Steps') OFFSET done - before LOOP
        FOR statement IN SELECT * FROM jsonb_array_elements_text(step -> 'SQL') LOOP
          EXECUTE statement;
        END LOOP;
        EXECUTE 'UPDATE ' || journal || ' SET done = done + 1 WHERE id = $1' USING move;
      END LOOP;
      EXIT;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN -- the locks are released
      IF clock_timestamp() > begun + interval '10 minutes' THEN
        RAISE;
      END IF;
      PERFORM pg_sleep(0.3 + random() * 0.3);
    END;
  END LOOP;
  PERFORM set_config('search_path', path, true); -- for what the tool does in this transaction
  IF wanted = 'finish' THEN
    EXECUTE 'LOCK TABLE ' || journal || ' IN ACCESS EXCLUSIVE MODE';
    EXECUTE 'DELETE FROM ' || journal || ' WHERE id = $1' USING move;
    EXECUTE 'SELECT EXISTS (SELECT FROM ' || journal || ')' INTO others;
    IF NOT others THEN
      EXECUTE 'DROP TABLE ' || journal;
    END IF;
  END IF;
END
$gormflake_stage$

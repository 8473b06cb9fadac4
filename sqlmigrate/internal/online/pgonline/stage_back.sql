DO $gormflake_stage$
BEGIN
  IF 'STAGE' = 'finish' THEN
    RAISE EXCEPTION 'gormflake: the old columns have been dropped: there is no way back';
  ELSIF EXISTS (SELECT FROM (VALUES KEYS) AS k (t, c)
      JOIN pg_catalog.pg_attribute a ON a.attrelid = k.t::regclass AND a.attname = k.c WHERE a.atttypid = 'int8'::regtype) THEN
    RAISE EXCEPTION 'gormflake: the keys are wide: run gormflake migrate online revert first';
  ELSIF 'STAGE' = 'prepare' AND EXISTS (SELECT FROM pg_catalog.pg_trigger WHERE tgrelid = ANY (ARRAY[TABLES]::regclass[]) AND tgname = 'TRIGGER') THEN
    RAISE EXCEPTION 'gormflake: the move is under way: run gormflake migrate online revert first';
  END IF;
END
$gormflake_stage$

-- A help desk of many tenants: the tenant comes from a setting of the session, a trigger counts in a table of 1:1, and the text is searched.
CREATE TABLE accounts (id {key}, name varchar(60) NOT NULL);
CREATE TABLE users (id {key}, account_id {ref} NOT NULL, name varchar(60) NOT NULL, FOREIGN KEY (account_id) REFERENCES accounts (id));
CREATE TABLE user_stats (user_id {ref} NOT NULL PRIMARY KEY, tickets {ref} NOT NULL DEFAULT 0, FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE);
postgres: CREATE TABLE tickets (id {key}, account_id integer NOT NULL DEFAULT current_setting('app.account')::bigint, requester_id integer NOT NULL REFERENCES users (id), subject varchar(100) NOT NULL, search tsvector GENERATED ALWAYS AS (to_tsvector('english', subject)) STORED, FOREIGN KEY (account_id) REFERENCES accounts (id));
mysql: CREATE TABLE tickets (id {key}, account_id {ref} NOT NULL, requester_id {ref} NOT NULL, subject varchar(100) NOT NULL, FULLTEXT KEY search (subject), FOREIGN KEY (account_id) REFERENCES accounts (id), FOREIGN KEY (requester_id) REFERENCES users (id));
sqlite: CREATE TABLE tickets (id {key}, account_id {ref} NOT NULL REFERENCES accounts (id), requester_id {ref} NOT NULL REFERENCES users (id), subject varchar(100) NOT NULL);
postgres: CREATE INDEX search ON tickets USING gin (search);
postgres: CREATE FUNCTION count_ticket() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE user_stats SET tickets = tickets + 1 WHERE user_id = NEW.requester_id; RETURN NEW; END $$;
postgres: CREATE TRIGGER counted AFTER INSERT ON tickets FOR EACH ROW EXECUTE FUNCTION count_ticket();
mysql: CREATE TRIGGER tenant BEFORE INSERT ON tickets FOR EACH ROW SET NEW.account_id = coalesce(nullif(NEW.account_id, 0), @app_account);
mysql: CREATE TRIGGER counted AFTER INSERT ON tickets FOR EACH ROW UPDATE user_stats SET tickets = tickets + 1 WHERE user_id = NEW.requester_id;
sqlite: CREATE TRIGGER counted AFTER INSERT ON tickets BEGIN UPDATE user_stats SET tickets = tickets + 1 WHERE user_id = NEW.requester_id; END;
sqlite: CREATE VIRTUAL TABLE tickets_fts USING fts5(subject, content='tickets', content_rowid='id');
sqlite: CREATE TRIGGER searched AFTER INSERT ON tickets BEGIN INSERT INTO tickets_fts (rowid, subject) VALUES (NEW.id, NEW.subject); END;
sqlite: CREATE TRIGGER forgotten AFTER DELETE ON tickets BEGIN INSERT INTO tickets_fts (tickets_fts, rowid, subject) VALUES ('delete', OLD.id, OLD.subject); END;
INSERT INTO accounts (name) VALUES ('Acme');
INSERT INTO users (account_id, name) VALUES (1, 'Ada');
INSERT INTO user_stats (user_id) VALUES (1);
INSERT INTO tickets (account_id, requester_id, subject) VALUES (1, 1, 'The printer burns');
-- after the move
INSERT INTO accounts (id, name) VALUES ({a}, 'Initech');
INSERT INTO users (id, account_id, name) VALUES ({a}, {a}, 'Bob');
INSERT INTO user_stats (user_id) VALUES ({a});
postgres: SET app.account = '{a}';
postgres: INSERT INTO tickets (id, requester_id, subject) VALUES ({a}, {a}, 'No paper in the printer');
mysql: SET @app_account = {a};
mysql: INSERT INTO tickets (id, account_id, requester_id, subject) VALUES ({a}, 0, {a}, 'No paper in the printer');
sqlite: INSERT INTO tickets (id, account_id, requester_id, subject) VALUES ({a}, {a}, {a}, 'No paper in the printer');
SELECT 1 FROM tickets WHERE id = {a} AND account_id = {a};
SELECT 1 FROM user_stats WHERE user_id = {a} AND tickets = 1;
postgres: SELECT 1 FROM tickets WHERE id = {a} AND search @@ to_tsquery('paper & printers');
mysql: SELECT 1 FROM tickets WHERE id = {a} AND MATCH (subject) AGAINST ('paper');
sqlite: SELECT 1 FROM tickets_fts WHERE rowid = {a} AND tickets_fts MATCH 'paper printer';
-- before the way back
DELETE FROM tickets WHERE id = {a};
DELETE FROM users WHERE id = {a};
DELETE FROM accounts WHERE id = {a};

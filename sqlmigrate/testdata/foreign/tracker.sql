-- A tracker of issues: trees with a table of all ancestors, values of any object, a view that the program inserts into, and a procedure.
CREATE TABLE projects (id {key}, parent_id {ref}, name varchar(60) NOT NULL, FOREIGN KEY (parent_id) REFERENCES projects (id));
CREATE TABLE issues (id {key}, project_id {ref} NOT NULL, subject varchar(100) NOT NULL, closed smallint NOT NULL DEFAULT 0, FOREIGN KEY (project_id) REFERENCES projects (id));
CREATE TABLE issue_ancestors (issue_id {ref} NOT NULL, ancestor_id {ref} NOT NULL, depth smallint NOT NULL, PRIMARY KEY (issue_id, ancestor_id), FOREIGN KEY (issue_id) REFERENCES issues (id) ON DELETE CASCADE, FOREIGN KEY (ancestor_id) REFERENCES issues (id) ON DELETE CASCADE);
CREATE TABLE custom_values (id {key}, customized_type varchar(30) NOT NULL, customized_id {ref} NOT NULL, value varchar(60));
CREATE VIEW open_issues AS SELECT id, project_id, subject FROM issues WHERE closed = 0;
postgres: CREATE FUNCTION add_self() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO issue_ancestors VALUES (NEW.id, NEW.id, 0); RETURN NEW; END $$;
postgres: CREATE TRIGGER self AFTER INSERT ON issues FOR EACH ROW EXECUTE FUNCTION add_self();
postgres: CREATE PROCEDURE add_issue(key bigint, parent bigint, project bigint, title text) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO issues (id, project_id, subject) VALUES (key, project, title); INSERT INTO issue_ancestors SELECT key, ancestor_id, depth + 1 FROM issue_ancestors WHERE issue_id = parent; END $$;
mysql: CREATE TRIGGER self AFTER INSERT ON issues FOR EACH ROW INSERT INTO issue_ancestors VALUES (NEW.id, NEW.id, 0);
mysql: CREATE PROCEDURE add_issue(new_id bigint, parent bigint, project bigint, title text) BEGIN INSERT INTO issues (id, project_id, subject) VALUES (new_id, project, title); INSERT INTO issue_ancestors SELECT new_id, ancestor_id, depth + 1 FROM issue_ancestors WHERE issue_id = parent; END;
sqlite: CREATE TRIGGER self AFTER INSERT ON issues BEGIN INSERT INTO issue_ancestors VALUES (NEW.id, NEW.id, 0); END;
sqlite: CREATE TRIGGER open_issue INSTEAD OF INSERT ON open_issues BEGIN INSERT INTO issues (id, project_id, subject) VALUES (NEW.id, NEW.project_id, NEW.subject); END;
INSERT INTO projects (name) VALUES ('Engine');
INSERT INTO issues (project_id, subject) VALUES (1, 'It leaks');
INSERT INTO custom_values (customized_type, customized_id, value) VALUES ('Issue', 1, 'red');
-- after the move
INSERT INTO projects (id, parent_id, name) VALUES ({a}, 1, 'Pump');
INSERT INTO open_issues (id, project_id, subject) VALUES ({a}, {a}, 'It squeaks');
postgres: CALL add_issue({b}, {a}, {a}, 'Oil it');
mysql: CALL add_issue({b}, {a}, {a}, 'Oil it');
sqlite: INSERT INTO open_issues (id, project_id, subject) VALUES ({b}, {a}, 'Oil it');
sqlite: INSERT INTO issue_ancestors VALUES ({b}, {a}, 1);
INSERT INTO custom_values (id, customized_type, customized_id, value) VALUES ({a}, 'Issue', {a}, 'blue');
SELECT 1 FROM open_issues WHERE id = {b} AND project_id = {a};
SELECT 1 FROM issue_ancestors WHERE issue_id = {b} AND ancestor_id = {a} AND depth = 1;
SELECT 1 FROM issue_ancestors WHERE issue_id = {b} AND ancestor_id = {b} AND depth = 0;
-- before the way back
DELETE FROM custom_values WHERE id = {a};
DELETE FROM issues WHERE id = {b};
DELETE FROM issues WHERE id = {a};
DELETE FROM projects WHERE id = {a};

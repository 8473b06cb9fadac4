-- A blog: no foreign keys at all, keys and what refers to them named alike, meta tables.
CREATE TABLE users (id {unsigned}, user_login varchar(60) NOT NULL DEFAULT '', user_email varchar(100) NOT NULL DEFAULT '');
CREATE TABLE posts (id {unsigned}, post_author {unsignedref} NOT NULL DEFAULT 0, post_title varchar(200) NOT NULL, post_parent {unsignedref} NOT NULL DEFAULT 0);
CREATE TABLE postmeta (meta_id {unsigned}, post_id {unsignedref} NOT NULL DEFAULT 0, meta_key varchar(191) DEFAULT NULL, meta_value varchar(200));
CREATE TABLE comments (comment_id {unsigned}, comment_post_id {unsignedref} NOT NULL DEFAULT 0, user_id {unsignedref} NOT NULL DEFAULT 0, comment_content varchar(200) NOT NULL);
CREATE INDEX post_author ON posts (post_author);
CREATE INDEX post_id ON postmeta (post_id);
CREATE INDEX meta_key ON postmeta (meta_key);
INSERT INTO users (user_login) VALUES ('ada'), ('bob');
INSERT INTO posts (post_author, post_title) VALUES (1, 'Hello'), (2, 'World');
INSERT INTO postmeta (post_id, meta_key, meta_value) VALUES (1, 'seen', 'yes');
INSERT INTO comments (comment_post_id, user_id, comment_content) VALUES (1, 2, 'First');
-- after the move
INSERT INTO posts (id, post_title) VALUES ({a}, 'New');
INSERT INTO postmeta (meta_id, post_id) VALUES ({b}, {a});
-- before the way back
DELETE FROM postmeta WHERE meta_id = {b};
DELETE FROM posts WHERE id = {a};

package migratetest

// SQLiteShop creates a small schema with the features that a change of a table definition
// could damage.
var SQLiteShop = []string{
	"CREATE TABLE users (\n  id INTEGER /* AUTOINCREMENT */ PRIMARY KEY AUTOINCREMENT, -- AUTOINCREMENT in a comment\n" +
		"  name TEXT COLLATE NOCASE DEFAULT 'it''s AUTOINCREMENT' CHECK (name <> ''),\n-- it stands alone\n" +
		"  manager_id INTEGER REFERENCES users ON DELETE SET NULL, code TEXT GENERATED ALWAYS AS (id || '-' || name) VIRTUAL\n)",
	"CREATE TABLE `orders` (`id` integer PRIMARY KEY AUTOINCREMENT,`user_id` bigint,CONSTRAINT `fk_ou` FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON DELETE CASCADE ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED)",
	"CREATE TABLE lines (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders(id) ON DELETE CASCADE, n INT)",
	"CREATE TABLE profiles (user_id INTEGER PRIMARY KEY REFERENCES users(id) ON DELETE CASCADE, bio TEXT) STRICT",
	"CREATE TABLE log (id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT)",
	"CREATE INDEX i_part ON users (name) WHERE manager_id IS NOT NULL",
	"CREATE INDEX i_expr ON orders (user_id + 1)",
	"CREATE VIEW v_users AS SELECT id, name FROM users",
	"CREATE TRIGGER tr_log AFTER INSERT ON orders BEGIN INSERT INTO log (what) VALUES ('order ' || NEW.id); END",
	"INSERT INTO users (id, name, manager_id) VALUES (1, 'a', NULL), (2, 'b', 1), (9, 'gone', 1)",
	"DELETE FROM users WHERE id = 9",
	"INSERT INTO orders (user_id) VALUES (1), (2)",
	"INSERT INTO lines (order_id, n) VALUES (1, 1), (1, 2), (2, 1)",
	"INSERT INTO profiles VALUES (1, 'x')",
}

-- name: CreateOrder :exec
INSERT INTO orders (id, parent) VALUES (?, ?);

-- name: OrdersOfParent :many
SELECT * FROM orders WHERE parent = ? ORDER BY id;

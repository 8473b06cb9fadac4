package untyped

import (
	"context"

	"github.com/gormflake/gormflake/types"
)

// Context is as in gin.
type Context struct{ values map[string]any }

func (c *Context) Set(key string, value any)           { c.values[key] = value }
func (c *Context) Get(key string) (value any, ok bool) { value, ok = c.values[key]; return value, ok }
func (c *Context) GetInt(key string) (n int)           { n, _ = c.values[key].(int); return n }

type contextKey struct{}

const user = "user"

// store stores an ID under two keys, and a number that is not an ID under a third key.
func store(ctx context.Context, c *Context, id types.ID, n int) context.Context {
	c.Set(user, id)
	c.Set("page", n)
	return context.WithValue(ctx, contextKey{}, id)
}

// read reads the IDs as integers.
func read(ctx context.Context, c *Context) []any {
	value, _ := c.Get(user)
	n, ok := value.(int)                         // want `the value is an ID, not a int: assert types.ID`
	other, _ := ctx.Value(contextKey{}).(int64)  // want `the value is an ID, not a int64: assert types.ID`
	return []any{c.GetInt("user"), n, ok, other} // want `GetInt returns the zero value, because an ID is stored under the key: read it as a types.ID`
}

// right reads the IDs as IDs, and the number as an integer.
func right(ctx context.Context, c *Context) []any {
	value, _ := c.Get(user)
	id, _ := value.(types.ID)
	other, _ := ctx.Value(contextKey{}).(types.ID)
	page, _ := c.Get("page")
	n, _ := page.(int)
	return []any{id, other, n, c.GetInt("page")}
}

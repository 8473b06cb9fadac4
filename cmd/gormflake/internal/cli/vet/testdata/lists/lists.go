package lists

import (
	"slices"

	"github.com/gormflake/gormflake"
)

type (
	Argument  struct{ ID uint }
	New       struct{ ID uint }
	Nil       struct{ ID uint }
	Value     struct{ ID uint }
	Variable  struct{ ID uint }
	Local     struct{ ID uint }
	Appended  struct{ ID uint }
	Returned  struct{ ID uint }
	Parameter struct{ ID uint }
	Field     struct{ ID uint }
	Ranged    struct{ ID uint }
	Joined    struct{ ID uint }
	Unlisted  struct{ ID uint }
)

var all = []any{&Variable{}}

type app struct{ models []any }

func options(a app) []gormflake.Option {
	local := []any{Local{}}
	local = append(local, &Appended{})
	a.models = []any{&Field{}}
	opts := []gormflake.Option{
		gormflake.WithModels(&Argument{}, new(New), (*Nil)(nil), Value{}),
		gormflake.WithModels(all...), gormflake.WithModels(local...), gormflake.WithModels(returned()...),
		gormflake.WithModels(a.models...), parameter(&Parameter{}),
		gormflake.WithModels(slices.Concat(all, []any{&Joined{}})...),
	}
	for _, m := range []any{&Ranged{}} {
		opts = append(opts, gormflake.WithModels(m))
	}
	return opts
}

func returned() []any { return []any{&Returned{}} }

func parameter(models ...any) gormflake.Option { return gormflake.WithModels(models...) }

func other() []any { return []any{&Unlisted{}} }

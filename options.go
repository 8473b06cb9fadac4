package gormflake

import (
	"errors"
	"fmt"
	"strings"
)

// Option changes what [New] makes.
type Option interface {
	apply(cfg *config) error
}

type config struct {
	generators map[string]Generator
}

type optionFunc func(*config) error

func (f optionFunc) apply(cfg *config) error { return f(cfg) }

// WithGenerator adds a generator for the columns tagged gen=name, for example
// `snowflake:"pk,gen=orders"`. Columns without gen= use the generator given to
// [New]. An empty name, a name with a comma, a name given twice and a nil
// generator are errors.
func WithGenerator(name string, gen Generator) Option {
	return optionFunc(func(cfg *config) error {
		switch _, taken := cfg.generators[name]; {
		case name == "":
			return errors.New("gormflake: WithGenerator: name is empty, want the name used in gen=name")
		case strings.Contains(name, ","):
			return fmt.Errorf("gormflake: WithGenerator(%q): name contains a comma, which no tag can hold", name)
		case taken:
			return fmt.Errorf("gormflake: WithGenerator(%q): name is given twice", name)
		case gen == nil:
			return fmt.Errorf("gormflake: WithGenerator(%q): generator is nil", name)
		}
		cfg.generators[name] = gen
		return nil
	})
}

package gormflake

import (
	"errors"
	"fmt"
	"strings"
)

const tagKey = "snowflake"

// tag is a parsed `snowflake:"…"`.
type tag struct {
	primary bool
	gen     string
}

func parseTag(text string) (tag, error) {
	role, rest, more := strings.Cut(text, ",")
	t := tag{primary: role == "pk"}
	if role != "pk" && role != "id" {
		return tag{}, fmt.Errorf("unknown word %q: want pk for a primary key, id for any other column", role)
	}
	for more {
		var option string
		option, rest, more = strings.Cut(rest, ",")
		if err := t.option(option); err != nil {
			return tag{}, err
		}
	}
	return t, nil
}

func (t *tag) option(text string) error {
	name, value, _ := strings.Cut(text, "=")
	switch {
	case name != "gen":
		return fmt.Errorf("unknown word %q: want gen=name", text)
	case value == "":
		return errors.New("gen= names no generator: want gen=name")
	case t.gen != "":
		return errors.New("gen= is given twice")
	}
	t.gen = value
	return nil
}

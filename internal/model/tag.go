package model

import (
	"errors"
	"fmt"
	"strings"
)

const (
	tagKey  = "snowflake"
	leftOut = "-" // the tag that leaves a model out of gormflake.WithModels
)

// tag is a parsed `snowflake:"…"`.
type tag struct {
	primary bool
	serial  string // the code of a serial number, "" for a key
	gen     string
}

func parseTag(text string) (t tag, err error) {
	words := strings.Split(text, ",")
	err = t.role(words[0])
	for i := 1; err == nil && i < len(words); i++ {
		err = t.option(words[i])
	}
	return t, err
}

func (t *tag) role(text string) error {
	code, isSerial := strings.CutPrefix(text, "serial=")
	switch {
	case text == "pk":
		t.primary = true
	case text == "id":
	case isSerial && code == "":
		return errors.New("serial= names no code: want serial=CODE")
	case isSerial:
		t.serial = code
	default:
		return fmt.Errorf("unknown word %q: want pk for a primary key, id for any other column, serial=CODE for a serial number", text)
	}
	return nil
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

package main_test

import (
	"os"
	"os/exec"
	"testing"
)

// TestPictureIsCurrent checks that the picture is the output of the program for the
// stored figures.
func TestPictureIsCurrent(t *testing.T) {
	t.Parallel()
	figures, err := os.Open("figures.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer figures.Close()
	draw := exec.CommandContext(t.Context(), "go", "run", ".")
	draw.Stdin, draw.Stderr = figures, os.Stderr
	drawn, err := draw.Output()
	if err != nil {
		t.Fatal(err)
	}
	picture, err := os.ReadFile("../../docs/images/figures.svg")
	if err != nil {
		t.Fatal(err)
	}
	if string(picture) != string(drawn) {
		t.Error("docs/images/figures.svg is not what figures.txt gives: run make figures")
	}
}

package sluicetest

import (
	"os"
	"strings"
	"testing"
)

// TestChecklist checks that the checklist lists every test of the suite.
func TestChecklist(t *testing.T) {
	text, err := os.ReadFile("CHECKLIST.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range unlisted(string(text)) {
		t.Errorf("CHECKLIST.md does not mention %s", name)
	}
	if got := unlisted("| a case | Flow, Stats/rest |"); len(got) != len(tests)-2 {
		t.Errorf("a checklist with two tests leaves %d of %d unlisted", len(got), len(tests))
	}
}

// unlisted returns the tests that text does not mention.
func unlisted(text string) (names []string) {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;:/|()\n", r) })
	for _, test := range tests {
		found := false
		for _, word := range words {
			found = found || word == test.name
		}
		if !found {
			names = append(names, test.name)
		}
	}
	return names
}

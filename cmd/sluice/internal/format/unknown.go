package format

import (
	"fmt"
	"strings"
)

// Unknown returns an error about a name that is none of the names of that kind: it
// suggests the one that may have been meant, or else lists all.
func Unknown(kind, name string, names []string) error {
	nearest, least := "", 1+max(1, len(name)/3)
	for _, candidate := range names {
		d := distance(strings.ToLower(name), candidate)
		if len(name) > 2 && strings.HasPrefix(candidate, strings.ToLower(name)) {
			d = 0
		}
		if d < least {
			nearest, least = candidate, d
		}
	}
	if nearest != "" {
		return fmt.Errorf("unknown %s %q: did you mean %q?", kind, name, nearest)
	}
	return fmt.Errorf("unknown %s %q (want %s)", kind, name, strings.Join(names, ", "))
}

// distance returns the number of letters to insert, delete or replace in a to make it b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

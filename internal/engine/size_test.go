package engine

import (
	"reflect"
	"testing"
)

func TestHasPointers(t *testing.T) {
	for _, c := range []struct {
		value any
		want  bool
	}{
		{0, false}, {1.5, false}, {struct{}{}, false}, {[4]int{}, false}, {struct{ a, b uint8 }{}, false}, {[0]*int{}, false},
		{"", true}, {[]int{}, true}, {new(int), true}, {[2]string{}, true}, {struct{ f func() }{}, true}, {map[int]int{}, true},
	} {
		if got := hasPointers(reflect.TypeOf(c.value)); got != c.want {
			t.Errorf("hasPointers(%T) = %v", c.value, got)
		}
	}
	if !HasPointers[any]() || HasPointers[int]() {
		t.Error("HasPointers is false of an interface, or true of an int")
	}
}

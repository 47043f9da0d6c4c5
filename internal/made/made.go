// Package made recognizes channels that no constructor of package sluice made: nil
// pointers and zero values. A function that would lose what it received, or accepted,
// checks its channels before it begins.
package made

import (
	"fmt"
	"reflect"

	"github.com/sluice-go/sluice/internal/stage"
)

// Require panics in the name of function, such as "bridge: FromChan", if channel is nil,
// or is a nil pointer to a type of package sluice, or points to the zero value of one.
// role is the word for channel in the message: "sender", "receiver". A nil pointer of
// another type may well be a channel. If sluice.LeaveOpen wraps the channel, Require
// checks the wrapped channel.
func Require(function, role string, channel any) {
	if channel == nil {
		panic(fmt.Sprintf("%s: nil %s", function, role))
	}
	channel = stage.Unwrap(channel)
	v := reflect.ValueOf(channel)
	if v.Kind() != reflect.Pointer || v.Type().Elem().PkgPath() != "github.com/sluice-go/sluice" {
		return
	}
	if v.IsNil() || v.Elem().IsZero() {
		panic(fmt.Sprintf("%s: the %s is a %T that no constructor made", function, role, channel))
	}
}

// Own reports whether channel is a pointer to a type of package sluice.
func Own(channel any) bool {
	t := reflect.TypeOf(channel)
	return t != nil && t.Kind() == reflect.Pointer && t.Elem().PkgPath() == "github.com/sluice-go/sluice"
}

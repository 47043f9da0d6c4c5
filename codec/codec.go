// Package codec turns the values of a channel into bytes and back, for kinds
// whose values leave the memory of the process.
//
// What may enter: forms that a value has outside of the program, made of the
// standard library alone. Where the bytes go is the business of the kind.
package codec

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
)

// A Codec is one form of the values of type T. It is used by many goroutines at
// once, so it keeps nothing of a call.
type Codec[T any] interface {
	// Name says which form it is. Whoever stores values stores the name with
	// them, and refuses to read what was written under another name. Two codecs
	// that cannot read each other's bytes must differ in it. One to 64 bytes of
	// printable ASCII, and never another one for the same form.
	Name() string
	// Append appends the form of v to b and returns the longer slice, as the
	// append of the language does. After an error the bytes of b that were there
	// before are unchanged, and whatever else was returned is of no use. It keeps
	// neither b nor, by way of it, v.
	Append(b []byte, v T) ([]byte, error)
	// Decode returns the value whose form is b, all of it: b holds neither less
	// nor more. The value must not share memory with b, which changes afterwards.
	// With an error it returns whatever it likes.
	Decode(b []byte) (T, error)
}

// Default returns the codec that a kind uses unless it is told another one. It
// depends on T alone:
//
//   - []byte and string: "raw", the bytes themselves. Nil and empty are the same
//     form, which is decoded as nil.
//   - What has AppendBinary and, on its pointer, UnmarshalBinary
//     ([encoding.BinaryAppender], [encoding.BinaryUnmarshaler]), such as
//     [time.Time] and [net/netip.Addr], and pointers to it: "binary", what these
//     methods say. A nil pointer is an error.
//   - All other types: "json", what [JSON] says.
//
// A named type whose underlying type is []byte or string is one of the last two:
// it may have methods that say how it wants to be written.
//
// It fails for a struct that embeds what has such methods, [time.Time] or another, and
// has more fields: the methods are the struct's too, they write the time, and the other
// fields would be lost without an error. So it does for a type in which JSON finds such a
// struct, at any depth, but behind an interface. The remedy is a name for the field, or to
// say which codec.
func Default[T any]() (Codec[T], error) {
	if c, ok := any(raw{}).(Codec[T]); ok {
		return c, nil
	}
	if c, ok := any(text{}).(Codec[T]); ok {
		return c, nil
	}
	t := reflect.TypeFor[T]()
	if _, ok := any(new(T)).(binaryForm); ok {
		return binary[T]{}, losing(t, ofBinary, anyField)
	}
	if t.Kind() == reflect.Pointer && t.Implements(reflect.TypeFor[binaryForm]()) {
		return pointed[T]{t.Elem()}, losing(t.Elem(), ofBinary, anyField)
	}
	return JSON[T](), losingJSON(t, map[reflect.Type]bool{})
}

// raw is the form of []byte.
type raw struct{}

func (raw) Name() string                              { return "raw" }
func (raw) Append(b []byte, v []byte) ([]byte, error) { return append(b, v...), nil }
func (raw) Decode(b []byte) ([]byte, error)           { return append([]byte(nil), b...), nil }

// text is the same form for string.
type text struct{}

func (text) Name() string                              { return "raw" }
func (text) Append(b []byte, v string) ([]byte, error) { return append(b, v...), nil }
func (text) Decode(b []byte) (string, error)           { return string(b), nil }

// A binaryForm can be written and read by its own methods. Only what has both is
// asked: a type that can only be written is not read by guessing.
type binaryForm interface {
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// Binary returns the codec "binary": what the methods of T say. It is the default of most
// such types; to ask for it says that the methods write all of a T, which Default cannot
// know of a struct that embeds something with such methods.
func Binary[T any, P interface {
	*T
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}]() Codec[T] {
	return binary[T]{}
}

// binary is the form that a T, or the pointer to it, has by its own methods.
type binary[T any] struct{}

func (binary[T]) Name() string { return "binary" }

func (binary[T]) Append(b []byte, v T) ([]byte, error) {
	return any(&v).(binaryForm).AppendBinary(b)
}

func (binary[T]) Decode(b []byte) (v T, err error) {
	err = any(&v).(binaryForm).UnmarshalBinary(b)
	return v, err
}

// pointed is the form of what a T, which is a pointer, points to.
type pointed[T any] struct{ elem reflect.Type }

var errNil = errors.New("codec: a nil pointer has no binary form")

func (pointed[T]) Name() string { return "binary" }

func (pointed[T]) Append(b []byte, v T) ([]byte, error) {
	if reflect.ValueOf(v).IsNil() {
		return b, errNil
	}
	return any(v).(binaryForm).AppendBinary(b)
}

func (p pointed[T]) Decode(b []byte) (T, error) {
	v := reflect.New(p.elem).Interface()
	if err := v.(binaryForm).UnmarshalBinary(b); err != nil {
		var none T
		return none, err
	}
	return v.(T), nil
}

// JSON returns the codec "json", whatever T is: encoding/json, so what that loses
// is lost, such as fields without a capital, the difference between invalid UTF-8
// strings, and what stands beside an embedded field that has methods for JSON or text.
// What it cannot encode, such as a func, is an error of Append.
func JSON[T any]() Codec[T] { return asJSON[T]{} }

type asJSON[T any] struct{}

func (asJSON[T]) Name() string { return "json" }

func (asJSON[T]) Append(b []byte, v T) ([]byte, error) {
	form, err := json.Marshal(v)
	return append(b, form...), err
}

func (asJSON[T]) Decode(b []byte) (v T, err error) {
	err = json.Unmarshal(b, &v)
	return v, err
}

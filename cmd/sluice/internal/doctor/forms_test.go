package doctor

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/livepage"
)

// forms are the output formats of a diagnosis.
var forms = map[string]func(*Diagnosis, io.Writer) error{
	"text": (*Diagnosis).WriteText, "page": (*Diagnosis).WritePage, "json": (*Diagnosis).WriteJSON,
}

// omitted lists parts that only some forms have, and why. All forms have all
// other parts: a new part must be added to every form, or to this list.
var omitted = map[string]struct{ forms, why string }{
	"Schema":  {"json", "the version of the JSON"},
	"Verdict": {"json", "the answer states it"},

	"Shares.Asleep":            {"json", "the evidence of a finding has it"},
	"Shares.SyncWait":          {"json", "likewise"},
	"Shares.GarbageCollection": {"json", "likewise"},
	"Shares.User":              {"json", "likewise"},
	"Shares.Wakeups":           {"json", "likewise"},
	"Shares.WakeupCores":       {"json", "likewise"},
	"Shares.Starved":           {"json", "the unknowns mention it"},

	"Findings.Kind":           {"json page", "the text has the sentence as a heading"},
	"Findings.Channels":       {"json", "the answer states it"},
	"Findings.At":             {"json", "the sentence names it"},
	"Findings.Share":          {"json", "findings are sorted by it"},
	"Findings.Minor":          {"json", "it has no remedy, and comes last"},
	"Findings.Needs":          {"json", "the unknowns have it"},
	"Findings.Remedies.Basis": {"json page", "too long for a terminal"},

	"Operations.Parks":      {"json", "the time waited is more useful"},
	"Operations.ParksFrom":  {"json", "the evidence of a finding has it"},
	"Operations.AsleepFrom": {"json", "likewise"},

	"Partners.Why":             {"json", "only an unknown receiver has it: TestUnknownReceiver"},
	"Partners.Sender.Caller":   {"json", "the operation has it"},
	"Partners.Receiver.Caller": {"json", "likewise"},

	"Prices.Unbuffered":     {"json", "the source is enough for people"},
	"Prices.Buffered":       {"json", "likewise"},
	"Prices.Contended":      {"json", "likewise"},
	"Prices.Batched":        {"json", "likewise"},
	"Prices.OwnSlices":      {"json", "likewise"},
	"Prices.Sharded":        {"json", "likewise"},
	"Prices.OneP":           {"json", "likewise"},
	"Prices.Wakeup":         {"json", "likewise"},
	"Prices.Case":           {"json", "likewise"},
	"Prices.Mutex":          {"json", "likewise"},
	"Prices.ContendedMutex": {"json", "likewise"},
}

// TestFormsAgree changes each part of a full diagnosis, and checks which forms
// change.
func TestFormsAgree(t *testing.T) {
	full := reflect.New(reflect.TypeFor[Diagnosis]()).Elem()
	filled := 0
	fill(full, &filled)
	d := full.Addr().Interface().(*Diagnosis)
	d.Partners[0].Sure = Seen
	unchanged := written(t, d)
	unused := maps.Clone(omitted)
	eachPart(full, "", func(part string, v reflect.Value) {
		before := reflect.ValueOf(v.Interface())
		change(v)
		changed := written(t, d)
		v.Set(before)
		var having []string
		for form := range forms {
			if changed[form] != unchanged[form] {
				having = append(having, form)
			}
		}
		slices.Sort(having)
		want := "json page text"
		for name, only := range omitted {
			if part == name || strings.HasPrefix(part, name+".") {
				want = only.forms
				delete(unused, name)
			}
		}
		if got := strings.Join(having, " "); got != want {
			t.Errorf("%s is in %q, want %q", part, got, want)
		}
	})
	if len(unused) > 0 {
		t.Errorf("unknown parts: %v", slices.Collect(maps.Keys(unused)))
	}
}

func written(t *testing.T, d *Diagnosis) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for form, write := range forms {
		var b bytes.Buffer
		if err := write(d, &b); err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		texts[form] = b.String()
	}
	return texts
}

// fill sets every exported field to a different value, and slices to one
// element.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*livepage.Flow]() {
			return // the forms of the map are in mapped_test.go
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n)
			}
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("word%d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(1000 - *n)) // more goroutines in an operation than waiting
	case reflect.Float64:
		v.SetFloat(1 + float64(*n)/1000)
	default:
		panic("fill: a " + v.Kind().String())
	}
}

// eachPart calls f with every part that fill has set.
func eachPart(v reflect.Value, path string, f func(part string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		eachPart(v.Elem(), path, f)
	case reflect.Slice:
		eachPart(v.Index(0), path, f)
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			switch {
			case !field.IsExported():
			case field.Anonymous:
				eachPart(v.Field(i), path, f)
			default:
				eachPart(v.Field(i), strings.TrimPrefix(path+"."+field.Name, "."), f)
			}
		}
	default:
		f(path, v)
	}
}

// change sets a part to another value.
func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("other" + v.String())
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() - 1)
	case reflect.Float64:
		v.SetFloat(7 * v.Float())
	}
}

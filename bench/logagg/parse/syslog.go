package parse

import "bytes"

// The header is split here instead of by github.com/leodido/go-syslog/v4, the
// more complete parser: the service needs only the position of two fields, and
// go-syslog's 422 ns and 7 allocations per message would exceed the rest of the
// work for a line (median of BenchmarkSyslog, 2026-11-21, AMD EPYC VM with 2
// cores, Go 1.26.8). Tests compare this file with go-syslog.

// maxPriority is the largest PRI: facility 23, severity 7.
const maxPriority = 191

// splitSyslog returns the name of the program and the message of a syslog
// message. The name is empty if the message has none.
func splitSyslog(line []byte) (name, message []byte, ok bool) {
	closing := bytes.IndexByte(line, '>')
	if closing < 2 || closing > 4 {
		return nil, nil, false
	}
	priority, ok := number(line[1:closing])
	if !ok || priority > maxPriority || line[1] == '0' && closing > 2 {
		return nil, nil, false
	}
	rest := line[closing+1:]
	if len(rest) > 2 && rest[0] == '1' && rest[1] == ' ' {
		return split5424(rest[2:])
	}
	return split3164(rest)
}

// split5424 parses the part after the version:
//
//	TIMESTAMP SP HOSTNAME SP APP-NAME SP PROCID SP MSGID SP STRUCTURED-DATA [SP MSG]
func split5424(rest []byte) (name, message []byte, ok bool) {
	for field := range 5 {
		i := bytes.IndexByte(rest, ' ')
		if i < 1 {
			return nil, nil, false
		}
		if field == 2 {
			name = rest[:i]
		}
		rest = rest[i+1:]
	}
	if string(name) == "-" {
		name = nil
	}
	if rest, ok = passStructuredData(rest); !ok {
		return nil, nil, false
	}
	if len(rest) > 0 {
		if rest[0] != ' ' {
			return nil, nil, false
		}
		rest = bytes.TrimPrefix(rest[1:], byteOrderMark)
	}
	return name, rest, true
}

// byteOrderMark marks a message as UTF-8 in RFC 5424.
var byteOrderMark = []byte("\ufeff")

// passStructuredData returns the bytes after "-" or a sequence of elements in
// brackets. In parameter values, a closing bracket is escaped by a backslash.
func passStructuredData(rest []byte) ([]byte, bool) {
	if len(rest) > 0 && rest[0] == '-' {
		return rest[1:], true
	}
	elements := 0
	for ; len(rest) > 0 && rest[0] == '['; elements++ {
		end := elementEnd(rest)
		if end < 0 {
			return nil, false
		}
		rest = rest[end:]
	}
	return rest, elements > 0
}

// elementEnd returns the end of the element at the beginning of text, or -1.
func elementEnd(text []byte) int {
	quoted := false
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			return i + 1
		}
	}
	return -1
}

// stampLength is the length of the time in RFC 3164: "Nov 21 15:04:05".
const stampLength = len("Jan _2 15:04:05")

// split3164 parses "TIMESTAMP HOSTNAME TAG: MESSAGE". The time is in the format
// of the RFC, or one word, from daemons that use RFC 3339. The tag ends before
// a "[" or ":".
func split3164(rest []byte) (name, message []byte, ok bool) {
	switch {
	case len(rest) > stampLength && rest[3] == ' ' && rest[6] == ' ' && rest[stampLength] == ' ':
		rest = rest[stampLength+1:]
	default:
		i := bytes.IndexByte(rest, ' ')
		if i < len("2026-11-21T15:04:05Z") || rest[10] != 'T' {
			return nil, nil, false
		}
		rest = rest[i+1:]
	}
	host := bytes.IndexByte(rest, ' ')
	if host < 1 {
		return nil, nil, false
	}
	rest = rest[host+1:]
	colon := bytes.IndexByte(rest, ':')
	if colon < 1 {
		return nil, nil, false
	}
	tag := rest[:colon]
	if i := bytes.IndexByte(tag, '['); i >= 0 {
		tag = tag[:i]
	}
	if len(tag) == 0 || bytes.IndexByte(tag, ' ') >= 0 {
		return nil, nil, false
	}
	return tag, bytes.TrimPrefix(rest[colon+1:], space), true
}

package jetstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// The secret of the tests has two parts, as a password that is not encoded may be cut.
const secretHead, secretTail = "hunter", "elephant"

func reveals(shown string) bool {
	return strings.Contains(shown, secretHead) || strings.Contains(shown, secretTail)
}

// withSecret returns a URL of the server with a user.
func withSecret(url, user string) string {
	return strings.Replace(url, "://", "://"+strings.ReplaceAll(user, "SECRET", secretHead+secretTail)+"@", 1)
}

// users are the forms of what comes before the host.
var users = []string{"user:SECRET", "SECRET", "user:%2FSECRET%40", "user:a:SECRET;!$&"}

// Open fails without telling the password, and tells the address.
func TestOpenSecret(t *testing.T) {
	t.Parallel()
	const closed = "nats://127.0.0.1:1"
	protected := listening(t, func(o *server.Options) { o.Username, o.Password = "user", "other" })
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	encrypted := listening(t, func(o *server.Options) { o.TLSConfig = certified.TLS })
	tls := func(s *server.Server) string { return "tls://" + s.Addr().String() }
	for name, url := range map[string]string{
		"no server":       closed,
		"wrong password":  protected.ClientURL(),
		"no TLS":          tls(protected),
		"bad certificate": tls(encrypted),
		"web sockets":     "ws://127.0.0.1:1",
		"mixed schemes":   closed + ",ws://127.0.0.1:1",
	} {
		for _, user := range users {
			for _, list := range []string{withSecret(url, user), closed + " , " + withSecret(url, user)} {
				var j journal
				_, err := Open(t.Context(), &Options[string]{Name: "jobs", URL: list, Log: j.log()})
				if err == nil || reveals(err.Error()+j.String()) || !strings.Contains(err.Error(), url) {
					t.Errorf("%s, %s: %v, log %q", name, list, err, j.String())
				}
			}
		}
	}
}

// A URL that does not parse is shown nowhere, and no part of a password is taken for a host.
func TestInvalidURL(t *testing.T) {
	t.Parallel()
	for _, list := range []string{
		"nats://user:SEC/RET@h", "nats://SEC/RET@h", "nats://user:1/SECRET@h", "nats://user:1?SECRET@h", "nats://user:1#SECRET@h",
		"nats://user:%SECRET@h", "nats://user:SEC RET@h", "nats://user:SEC,RET@h", "nats://SEC,RET@h", "nats://user:1,SECRET@h",
		"SEC,RET@h", "nats://a, nats://SEC,RET@h", "nats://user:SECRET", "nats://user:SECRET@h:port", "://user:SECRET@h", "user:SECRET@h://",
		"nats://user:\x7fSECRET@h", "nats://[user:SECRET@h",
	} {
		o := Options[string]{Name: "jobs", URL: strings.NewReplacer("SEC", secretHead, "RET", secretTail).Replace(list), Log: mute()}
		_, err := Open(t.Context(), &o)
		if err == nil || !strings.Contains(err.Error(), "invalid URL") || reveals(err.Error()) {
			t.Errorf("%s: %v", list, err)
		}
		if shown := fmt.Sprintf("%v %+v %#v", o, &o, o); reveals(shown) || strings.Count(shown, "(invalid)") != 3 {
			t.Errorf("%s: fmt: %s", list, shown)
		}
	}
	option := func(o *nats.Options) error { o.Servers = []string{"nats://user:" + secretHead + "/@h"}; return nil }
	if _, err := Open(t.Context(), &Options[string]{Name: "jobs", URL: "nats://h", NATS: []nats.Option{option}}); err == nil || reveals(err.Error()) {
		t.Errorf("a URL of an option: %v", err)
	}
}

// What a channel in use shows does not have the password: errors, the log, Stats and fmt.
func TestSecretInUse(t *testing.T) {
	t.Parallel()
	for _, user := range users {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			var settings *server.Options
			s := listening(t, func(o *server.Options) {
				settings = o
				o.LameDuckGracePeriod, o.LameDuckDuration = time.Millisecond, 2*time.Millisecond
				if name, password, ok := strings.Cut(strings.ReplaceAll(user, "SECRET", secretHead+secretTail), ":"); ok {
					o.Username, o.Password = name, strings.NewReplacer("%2F", "/", "%40", "@").Replace(password)
				} else {
					o.Authorization = name
				}
			})
			var j journal
			url := withSecret(s.ClientURL(), user)
			o := Options[string]{
				Name: "jobs", URL: url, Replicas: 1, Log: j.log(),
				// It is refused: the user is of another account, or unknown.
				System: withSecret(s.ClientURL(), "admin:SECRET"),
			}
			c := open(t, o)
			mustSend(t, c, "a")
			shown := []string{fmt.Sprintf("%v %+v %#v %v %+v %#v", o, &o, o, c, c, c), c.Stats().Name, fmt.Sprintf("%+v", c.Stats())}
			if !strings.Contains(shown[2], "sync_interval failed: connecting to") {
				t.Errorf("no warning about System: %s", shown[2])
			}
			fail := func(what string, err error) {
				if err == nil {
					t.Errorf("%s succeeded", what)
				}
				shown = append(shown, fmt.Sprintf("%v %+v %#v", err, err, err))
			}
			changed := settings.Clone()
			changed.Username, changed.Password, changed.Authorization = "user", "other", ""
			if err := s.ReloadOptions(changed); err != nil {
				t.Fatal(err)
			}
			until(t, "the log has the refusal", func() bool { return strings.Contains(strings.ToLower(j.String()), "authorization") })
			fail("TrySend", c.TrySend("b"))
			fail("Send", c.Send(canceled(), "b"))
			_, err := c.SendBatch(canceled(), []string{"b", "c"})
			fail("SendBatch", err)
			fail("CloseContext", c.CloseContext(canceled()))
			s.LameDuckShutdown()
			s.WaitForShutdown()
			_, err = c.TryRecv()
			fail("TryRecv", err)
			ctx, cancel := context.WithTimeout(t.Context(), reconnectWait)
			defer cancel()
			_, err = c.Recv(ctx)
			fail("Recv", err)
			_, err = Open(t.Context(), &o)
			fail("Open", err)
			_, err = c.DeadLetters(canceled())
			fail("DeadLetters", err)
			if all := strings.Join(shown, "\n") + fmt.Sprintf("%+v", c.Stats()) + j.String(); reveals(all) {
				t.Error(all)
			}
		})
	}
}

// FuzzSecret: no form of a list shows a part of a password, nor connects to it as to a host.
func FuzzSecret(f *testing.F) {
	for _, s := range []string{"", ",", "@", "/", "?", "#", ":", "%", "%2C", "\\", " ", ", ", "@h,", "://", "[", "é", "@1,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, middle string) {
		if strings.Contains(middle, ",") && strings.Contains(middle, "://") {
			t.Skip("it is a list of its own")
		}
		secret := secretHead + middle + secretTail
		for _, list := range []string{
			"nats://user:" + secret + "@h:1", "nats://" + secret + "@h:1", "tls://a:1,tls://user:" + secret + "@h:1,tls://" + secret + "@i:1",
			"user:" + secret + "@h:1,user:" + secret + "@i:1",
		} {
			dialed := ""
			_, err := dial(list, []nats.Option{nats.SetCustomDialer(dialer(func(address string) { dialed += " " + address })), nats.SkipHostLookup()})
			if err == nil || reveals(err.Error()+dialed+fmt.Sprintf("%+v", Options[int]{URL: list, System: list})) {
				t.Errorf("%q: %v, connected to %q", list, err, dialed)
			}
		}
	})
}

// A dialer connects to nothing.
type dialer func(address string)

func (d dialer) Dial(_, address string) (net.Conn, error) {
	d(address)
	return nil, errors.New("no connection to " + address)
}

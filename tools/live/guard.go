package live

import "slices"

// Alone complains about every request for something else than the page.
func (s *Session) Alone() { s.wrong = append(s.wrong, s.Page.Alone(s.address)...) }

// intruders is a script that plants foreign elements in the page and returns
// the directives of the policy that stopped them.
const intruders = `(async () => {
	const stopped = new Set();
	document.addEventListener("securitypolicyviolation", e => stopped.add(e.effectiveDirective));
	const script = document.createElement("script"), image = document.createElement("img"), style = document.createElement("style");
	script.textContent = "window.planted = 1";
	image.setAttribute("onerror", "window.planted = 2");
	style.textContent = "body { color: red }";
	document.body.append(script, image, style);
	image.dispatchEvent(new Event("error"));
	image.src = "http://127.0.0.1:9/x.png";
	await fetch("http://127.0.0.1:9/x").catch(() => {});
	for (let i = 0; i < 50 && stopped.size < 5; i++) await new Promise(r => setTimeout(r, 20));
	script.remove(), image.remove(), style.remove();
	return [...stopped];
})()`

// Guarded complains if planted content can run scripts, load resources or send
// requests.
func (s *Session) Guarded() {
	s.Filled()
	stopped := eval[[]string](s, intruders)
	s.until("window.planted === undefined", "a planted script has run")
	for _, directive := range []string{"script-src-elem", "script-src-attr", "style-src-elem", "img-src", "connect-src"} {
		if !slices.Contains(stopped, directive) {
			s.complain("the policy did not stop %s", directive)
		}
	}
}

// Escapes complains if a name that contains HTML is not shown as text.
func (s *Session) Escapes(hostile string) {
	s.Filled()
	s.until(names+".includes("+literal(hostile)+")", "a name that contains < is not shown as text")
	s.until(`!document.querySelector("#rows img, #rows script") && window.planted === undefined`, "a name became an element of the page")
}

package login

import (
	"strings"

	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// The fields of the form.
const (
	nameField    = "profile"
	addressField = "api_url"
	httpField    = "insecure_http"
	idField      = "client_id"
	sandboxField = "sandbox"
	secretField  = "secret"
)

// usualName is the profile that a first login makes, here as on the command line.
const usualName = "default"

// fields are those that are always there. The secret comes last, because Enter in the last field logs in.
func (s *Screen) fields() []widget.Field {
	return []widget.Field{
		{Name: nameField, Label: "Profile", Value: usualName, Hint: "such as default", Check: CheckName},
		{Name: addressField, Label: "Address of the API", Hint: "such as https://perks.example/v2", Check: s.checkAddress},
		{Name: idField, Label: "Client id", Hint: "such as acme", Check: required("Enter the id of the client.")},
		{Name: sandboxField, Label: "Sandbox", Kind: widget.Switch, Value: widget.No},
		{Name: secretField, Label: "Secret", Kind: widget.Secret, Hint: "(not shown)", Check: s.checkSecret},
	}
}

// fill puts a profile into the form and goes to the first thing that is missing.
func (s *Screen) fill(profile screen.Profile) {
	if profile.Name != "" {
		s.form.Set(nameField, display.Line(profile.Name))
	}
	s.form.Set(addressField, display.Line(profile.APIURL))
	s.form.Set(idField, display.Line(profile.ClientID))
	s.form.Set(sandboxField, yesOrNo(profile.Sandbox))
	s.form.Set(secretField, "")
	s.form.Remove(httpField)
	s.allowed, s.rejected, s.edited = "", false, false
	if profile.InsecureHTTP {
		s.allowed = s.address()
	}
	s.askAboutHTTP(true)
	s.goToMissing()
}

func (s *Screen) goToMissing() {
	for _, name := range []string{nameField, addressField, idField, secretField} {
		if s.value(name) == "" {
			s.form.FocusOnName(name)
			return
		}
	}
}

func (s *Screen) value(name string) string { return strings.TrimSpace(s.form.Value(name)) }

func (s *Screen) address() string { return strings.TrimRight(s.value(addressField), "/") }

// entered is the profile that the form describes.
func (s *Screen) entered() screen.Profile {
	address := s.address()
	return screen.Profile{
		Name: s.value(nameField), APIURL: address, ClientID: s.value(idField),
		Sandbox: s.sandbox(), InsecureHTTP: s.allows() && isOpen(address),
	}
}

func (s *Screen) sandbox() bool { return s.form.Value(sandboxField) == widget.Yes }

// allows tells whether http to another computer is allowed.
func (s *Screen) allows() bool {
	if s.asksAboutHTTP() {
		return s.form.Value(httpField) == widget.Yes
	}
	return s.allowed != "" && s.allowed == s.address()
}

func (s *Screen) asksAboutHTTP() bool { return s.form.Field(httpField).Name != "" }

// askAboutHTTP adds the question whether http is allowed where the address raises it, and takes it away again. While the
// address is being typed, what may yet become this computer raises nothing. A yes is only for the address that was asked about.
func (s *Screen) askAboutHTTP(settled bool) {
	address := s.address()
	if s.asksAboutHTTP() && address != s.askedOf {
		switch {
		case s.allows():
			s.allowed = s.askedOf
		case s.allowed == s.askedOf:
			s.allowed = ""
		}
		s.form.Set(httpField, yesOrNo(address == s.allowed))
	}
	s.askedOf = address
	asks := isOpen(address) && (settled || !mayBecomeThisComputer(address))
	switch {
	case asks && !s.asksAboutHTTP():
		s.form.Insert(addressField, widget.Field{
			Name: httpField, Label: "Allow http, on which others could read the secret", Kind: widget.Switch, Value: yesOrNo(address == s.allowed),
		})
	case !asks && s.asksAboutHTTP():
		s.form.Remove(httpField)
	}
}

func yesOrNo(yes bool) string {
	if yes {
		return widget.Yes
	}
	return widget.No
}

package web

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// Open-Meteo's two services, which need no key: https://open-meteo.com/en/docs.
const (
	atGeocoding = "https://geocoding-api.open-meteo.com"
	atForecast  = "https://api.open-meteo.com"
)

// Limits of the weather.
const (
	maxPlace    = 120 // characters of a place's name
	maxDays     = 7   // beyond, a forecast is a guess
	usualDays   = 3
	maxOthers   = 5             // other places of one name that are named
	staleAfter  = 2 * time.Hour // current values older than that are said to be old
	weatherTime = 25 * time.Second
)

func weather(d Deps) tool.Tool {
	type args struct {
		Place string `json:"place" doc:"as Springfield, Illinois"`
		Days  int    `json:"days,omitempty" doc:"1 to 7"`
	}
	return tool.Define(tool.Spec[args]{
		Name: "weather",
		Aliases: []string{
			"get_weather", "current_weather", "get_current_weather", "weather_forecast", "get_weather_forecast", "forecast", "get_forecast", "weather_now",
			"weather_lookup", "check_weather", "weather_api", "get_temperature", "temperature",
		},
		Group:   "web",
		Summary: "Tell the weather at a place, now and in the next days.",
		Use:     "For any question about weather.",
		Find:    "temperature rain snow wind sun forecast climate outside umbrella hot cold sunrise",
		Effect:  jackline.Network,
		Source:  jackline.Outside,
		Icon:    "fetch",
		Prefetch: func(sentence string) (args, bool) {
			place, days, ok := weatherAsked(sentence)
			return args{Place: place, Days: days}, ok
		},
		Title: func(a args) string { return "Weather in " + short(a.Place, 60) },
		Touches: func(tool.In, args) ([]jackline.Touch, error) {
			return []jackline.Touch{touch(d.origin(atGeocoding)), touch(d.origin(atForecast))}, nil
		},
		Run: func(ctx context.Context, _ tool.In, a args) (tool.Out, error) {
			ctx, cancel := context.WithTimeout(ctx, weatherTime)
			defer cancel()
			where, others, err := d.place(ctx, a.Place)
			if err != nil {
				return tool.Out{}, err
			}
			if a.Days == 0 {
				a.Days = usualDays
			}
			text, err := d.forecast(ctx, where, min(max(a.Days, 1), maxDays), time.Now())
			if err != nil {
				return tool.Out{}, err
			}
			if others != "" {
				text += "\n" + others
			}
			return tool.Out{Text: text, Origin: "weather by Open-Meteo"}, nil
		},
	})
}

// A spot is a place on the map.
type spot struct {
	Name       string
	Region     string `json:"admin1"`
	District   string `json:"admin2"`
	Country    string
	Code       string `json:"country_code"`
	Latitude   *float64
	Longitude  *float64
	Population float64
}

func (s spot) String() string {
	parts := []string{plain(s.Name, 60)}
	for _, p := range []string{plain(s.Region, 60), plain(s.Country, 60)} {
		if p != "" && p != parts[len(parts)-1] {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ", ")
}

// place finds a place by its name, with a sentence about others that bear it. What stands behind a comma tells them apart.
func (d Deps) place(ctx context.Context, asked string) (spot, string, error) {
	const op = "web.place"
	asked = short(asked, maxPlace+1)
	if asked == "" || utf8.RuneCountInString(asked) > maxPlace {
		return spot{}, "", jackline.E(op, jackline.Unprocessed, nil, "Name a place in at most %d characters, as in Springfield, Illinois.", maxPlace)
	}
	if s, ok := coordinates(asked); ok {
		return s, "", nil
	}
	name, rest, _ := strings.Cut(asked, ",")
	v := url.Values{"name": {strings.TrimSpace(name)}, "count": {"20"}, "language": {"en"}, "format": {"json"}}
	var r struct{ Results []spot }
	q := question{service: "Open-Meteo's list of places", url: d.origin(atGeocoding) + "/v1/search?" + v.Encode()}
	if err := d.answered(ctx, q, &r); err != nil {
		return spot{}, "", live(err)
	}
	found := slices.DeleteFunc(r.Results, func(s spot) bool { return !s.valid() })
	if len(found) == 0 {
		return spot{}, "", jackline.E(op, jackline.NotFound, nil, "No place called %q was found. Check its spelling, or name a larger place near it.", plain(asked, 60))
	}
	all := found
	for part := range strings.SplitSeq(rest, ",") {
		if part = fold(part); part != "" {
			found = slices.DeleteFunc(slices.Clone(found), func(s spot) bool { return !s.in(part) })
		}
	}
	if len(found) == 0 {
		return spot{}, "", jackline.E(op, jackline.NotFound, nil, "%q was not found there. Places of that name: %s.", plain(asked, 60), names(all))
	}
	// The service lists the best known first. What is called exactly so goes before what only begins so.
	slices.SortStableFunc(found, func(a, b spot) int { return cmp.Compare(misses(a, name), misses(b, name)) })
	best, others := found[0], ""
	rivals := slices.DeleteFunc(slices.Clone(found[1:]), func(s spot) bool { return misses(s, name) > 0 || s.String() == best.String() })
	if len(rivals) > 0 {
		others = fmt.Sprintf("This is for %s. Other places of that name: %s. Name the region or country for one of them.", best, names(rivals))
	}
	return best, others, nil
}

func misses(s spot, name string) int {
	if fold(s.Name) == fold(name) {
		return 0
	}
	return 1
}

// valid reports whether a place is on the map.
func (s spot) valid() bool {
	return s.Name != "" && s.Latitude != nil && s.Longitude != nil && math.Abs(*s.Latitude) <= 90 && math.Abs(*s.Longitude) <= 180
}

// in reports whether a place lies in what somebody calls its region or country.
func (s spot) in(part string) bool {
	short := map[string]string{"usa": "us", "uk": "gb", "u.s.": "us", "u.s.a.": "us", "america": "us", "england": "gb", "scotland": "gb", "wales": "gb"}
	if code := short[part]; code != "" && fold(s.Code) == code && (code != "gb" || len(part) < 3 || strings.Contains(fold(s.Region), part)) {
		return true
	}
	for _, have := range []string{fold(s.Region), fold(s.District), fold(s.Country)} {
		if have == part || len(part) > 3 && strings.HasPrefix(have, part) || strings.HasSuffix(have, " "+part) {
			return true
		}
	}
	return fold(s.Code) == part || s.Code == "US" && states[part] != "" && states[part] == fold(s.Region)
}

// states are the short names of the states that have many towns of one name.
var states = map[string]string{
	"al": "alabama", "ak": "alaska", "az": "arizona", "ar": "arkansas", "ca": "california", "co": "colorado", "ct": "connecticut", "de": "delaware",
	"fl": "florida", "ga": "georgia", "hi": "hawaii", "id": "idaho", "il": "illinois", "in": "indiana", "ia": "iowa", "ks": "kansas", "ky": "kentucky",
	"la": "louisiana", "me": "maine", "md": "maryland", "ma": "massachusetts", "mi": "michigan", "mn": "minnesota", "ms": "mississippi",
	"mo": "missouri", "mt": "montana", "ne": "nebraska", "nv": "nevada", "nh": "new hampshire", "nj": "new jersey", "nm": "new mexico", "ny": "new york",
	"nc": "north carolina", "nd": "north dakota", "oh": "ohio", "ok": "oklahoma", "or": "oregon", "pa": "pennsylvania", "ri": "rhode island",
	"sc": "south carolina", "sd": "south dakota", "tn": "tennessee", "tx": "texas", "ut": "utah", "vt": "vermont", "va": "virginia", "wa": "washington",
	"wv": "west virginia", "wi": "wisconsin", "wy": "wyoming", "dc": "district of columbia",
}

func fold(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

func names(spots []spot) string {
	var all []string
	for _, s := range spots {
		if n := s.String(); !slices.Contains(all, n) && len(all) < maxOthers {
			all = append(all, n)
		}
	}
	return strings.Join(all, "; ")
}

// coordinates reads "52.5, 13.4".
func coordinates(s string) (spot, bool) {
	lat, lon, ok := strings.Cut(s, ",")
	if !ok {
		lat, lon, ok = strings.Cut(s, " ")
	}
	a, err := strconv.ParseFloat(strings.TrimSpace(lat), 64)
	b, err2 := strconv.ParseFloat(strings.TrimSpace(lon), 64)
	at := spot{Name: "the place at these coordinates", Latitude: &a, Longitude: &b}
	return at, ok && err == nil && err2 == nil && at.valid()
}

// live adds to a failure that nothing may stand in for the data.
func live(err error) error {
	return jackline.E("web.weather", jackline.KindOf(err), err, "%s The weather cannot be told now; do not guess it.", jackline.Say(err))
}

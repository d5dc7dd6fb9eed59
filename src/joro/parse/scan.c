/* Where does a page point, as far as its tags alone tell?

   In:    the bytes of a page in UTF-8 or ASCII; what its links are relative to; how to join those that a parser
          has to look at, and to resolve entities; a list for its texts, if they are wanted.
   Out:   the links of its <a> elements, its <area>, <iframe>, <link> and <meta> elements with their attributes,
          the source of its title and, if wanted, of its texts. Or None: then only a tree can tell (see `unsure`).
   Never: says anything else than the tree would; takes longer than one walk over the page; keeps a byte.

   Of a page's tree the robot needs no more than this, and a tree takes five times as long. What tags are is
   the HTML Standard's chapter 13.2.5 (tokenization); what elements they become is 13.2.6, and where that is more than
   "one of this name" the page is left to the tree. Its twin is `parse.links` over `parse.html.Tree`;
   tests/parse/test_quick.py compares the two on pages nobody would write. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#include "plain.h"

/* A page with more texts is read so far. */
#define TEXTS_LIMIT 5000

/* A place that is none: the page ends before, and what was begun there is no tag. */
#define NOWHERE NULL

enum kind {
    OTHER,   /* an element that is nothing to us */
    ANCHOR,  /* <a> */
    TAG,     /* its attributes are handed over */
    FRAME,   /* the same, and what is in it is text */
    HEAD,    /* nothing to us, and no beginning of a body */
    TEXT,    /* what is in it is text up to its end tag */
    STYLE,   /* the same, and nobody sees it */
    SCRIPT,  /* the same, with the rules of scripts */
    TITLE,   /* the same, and it is wanted */
    TABLE,   /* moves what is in it, but not in a cell, to before it */
    CELL,    /* of a table; its caption too */
    ROW,     /* of a table, or any other part that is no cell */
    DRAWING, /* <svg> */
    CHOICE,  /* <select> */
    OBJECT,  /* links open before it may outlive the cell they are in, and be copied to before the table */
    BASE,    /* moves all links */
    UNSURE,  /* what is in it becomes something else than its tags say */
};

/* Of the elements that are handed over. */
enum { AREA_NAME, IFRAME_NAME, LINK_NAME, META_NAME, NAMES };
static PyObject *names[NAMES];
static const char *const words[NAMES] = {"area", "iframe", "link", "meta"};

/* And of their attributes. */
enum { ATTRIBUTES = 7 };
static PyObject *attribute_names[ATTRIBUTES];
static const char *const attribute_words[ATTRIBUTES] = {"href", "rel", "src", "name", "content", "type", "http-equiv"};

typedef struct {
    at end;               /* of the page */
    PyObject *found;      /* URL → may it be followed */
    PyObject *tags;       /* (name, attributes) */
    PyObject *title;      /* or NULL */
    PyObject *texts;      /* of its body, between two tags each; or NULL: not wanted */
    int in_body;
    PyObject *join;       /* for references that are not plain */
    PyObject *resolve;    /* for values with entities */
    Base base;            /* for those that are */
    char *room;           /* for one value in another spelling */
    Py_ssize_t opened;    /* elements that others can be in */
    Py_ssize_t tables;    /* that are open */
    int in_cell;          /* of the innermost; all others are in one */
    int unsure;           /* only a tree can tell */
} Page;

/* The tree nests 512 elements, and what is deeper loses its text. A tag opens three at most: <td> a row and its
   group too, any other one what it brings back. A title behind more tags than this may be too deep. */
#define DEEP (512 / 3)

/* An attribute as written. */
typedef struct {
    at name, name_end, value, value_end;
} Attribute;

static int is_named(at name, Py_ssize_t length, const char *wanted) {
    if ((Py_ssize_t)strlen(wanted) != length) return 0;
    for (Py_ssize_t i = 0; i < length; i++) {
        unsigned char c = name[i];
        if (c >= 'A' && c <= 'Z') c += 32;
        if (c != (unsigned char)wanted[i]) return 0;
    }
    return 1;
}

static enum kind kind_of(at name, Py_ssize_t length, int *which) {
#define IF(word, kind) if (is_named(name, length, word)) return kind
#define IF_TAG(word, number, kind) if (is_named(name, length, word)) return *which = number, kind
    switch (name[0] | 32) {
    case 'a':
        if (length == 1) return ANCHOR;
        IF_TAG("area", AREA_NAME, TAG); IF("applet", OBJECT);
        break;
    case 'b': IF("base", BASE); IF("basefont", HEAD); IF("bgsound", HEAD); break;
    case 'c': IF("caption", CELL); IF("col", ROW); IF("colgroup", ROW); break;
    case 'f': IF("frame", UNSURE); IF("frameset", UNSURE); break;
    case 'h': IF("html", HEAD); IF("head", HEAD); break;
    case 'i': IF_TAG("iframe", IFRAME_NAME, FRAME); break;
    case 'l': IF_TAG("link", LINK_NAME, TAG); break;
    case 'm': IF_TAG("meta", META_NAME, TAG); IF("math", UNSURE); IF("marquee", OBJECT); break;
    case 'n': IF("noembed", TEXT); IF("noframes", STYLE); IF("noscript", HEAD); break;
    case 'o': IF("object", OBJECT); break;
    case 'p': IF("plaintext", UNSURE); break;
    case 's': IF("script", SCRIPT); IF("style", STYLE); IF("svg", DRAWING); IF("select", CHOICE); break;
    case 't':
        if (length == 2) {
            IF("td", CELL); IF("tr", ROW); IF("th", CELL);
            break;
        }
        IF("title", TITLE); IF("textarea", TEXT); IF("template", UNSURE);
        IF("table", TABLE); IF("tbody", ROW); IF("thead", ROW); IF("tfoot", ROW);
        break;
    case 'x': IF("xmp", TEXT); break;
    }
    return OTHER;
#undef IF
#undef IF_TAG
}

static at find(at from, at end, unsigned char wanted) {
    return from < end ? memchr(from, wanted, (size_t)(end - from)) : NOWHERE;
}

static at skip_space(at p, at end) {
    while (p < end && is[*p] & SPACE) p++;
    return p;
}

/* The next attribute of the tag that `p` is in; behind the tag's `>`, with an empty name, when there is none. */
static at next_attribute(at p, at end, Attribute *one) {
    one->name = one->name_end = one->value = one->value_end = NULL;
    while (p < end && (is[*p] & SPACE || *p == '/')) p++;
    if (p >= end) return NOWHERE;
    if (*p == '>') return p + 1;
    one->name = p++; /* also a `=` */
    while (p < end && !(is[*p] & SPACE) && *p != '/' && *p != '>' && *p != '=') p++;
    one->name_end = p;
    p = skip_space(p, end);
    if (p >= end || *p != '=') return p < end ? p : NOWHERE;
    p = skip_space(p + 1, end);
    if (p >= end) return NOWHERE;
    if (*p == '"' || *p == '\'') {
        one->value = p + 1;
        one->value_end = find(p + 1, end, *p);
        return one->value_end ? one->value_end + 1 : NOWHERE;
    }
    one->value = p;
    while (p < end && !(is[*p] & SPACE) && *p != '>') p++;
    one->value_end = p;
    return p < end ? p : NOWHERE;
}

static at skip_attributes(at p, at end) {
    Attribute one;
    do p = next_attribute(p, end, &one);
    while (p != NOWHERE && one.name);
    return p;
}

/* How long the name behind an ampersand is. */
static Py_ssize_t reference_length(at p, at end) {
    at start = p;
    while (p < end && is[*p] & (LETTER | DIGIT)) p++;
    return p - start;
}

/* Are the bytes of a value its characters, once `&amp;` is resolved? If so, they end at `*to` then. Else NOWHERE:
   it has other entities, or ends of lines that count for less. */
static at resolved(Page *page, at from, at *to) {
    if (find(from, *to, '\r')) return NOWHERE;
    if (!find(from, *to, '&')) return from;
    char *room = PyMem_Realloc(page->room, (size_t)(*to - from)), *out = room;
    if (!room) return NOWHERE;
    page->room = room;
    for (at p = from; p < *to; p++) {
        *out++ = (char)*p;
        if (*p != '&') continue;
        Py_ssize_t length = reference_length(p + 1, *to);
        at behind = p + 1 + length;
        if (length == 3 && behind < *to && *behind == ';' && !memcmp(p + 1, "amp", 3))
            p = behind;
        else if (length ? behind == *to || *behind != '=' : behind < *to && *behind == '#')
            return NOWHERE; /* `&copy`, `&eacute;`, `&#38;` */
    }
    *to = (at)out;
    return (at)room;
}

/* A value as a text; NULL for an error. */
static PyObject *value_of(Page *page, at from, at to) {
    if (from == to) return PyUnicode_New(0, 0); /* as for an attribute without a value */
    at end = to, start = resolved(page, from, &end);
    if (start) return PyUnicode_DecodeUTF8((const char *)start, end - start, "replace");
    PyObject *raw = PyUnicode_DecodeUTF8((const char *)from, to - from, "replace");
    PyObject *value = raw ? PyObject_CallOneArg(page->resolve, raw) : NULL;
    Py_XDECREF(raw);
    return value;
}

/* The URL that a reference leads to; None for one that leads nowhere, NULL for an error. */
static PyObject *url_of(Page *page, at from, at to) {
    at end = to, ref = from == to ? NOWHERE : resolved(page, from, &end);
    Plain plain;
    PyObject *url;
    if (ref && is_plain(&page->base, ref, end, &plain)) {
        Py_ssize_t rest = end - plain.rest;
        if (!(url = PyUnicode_New(plain.start_length + rest, 127))) return NULL;
        memcpy(PyUnicode_1BYTE_DATA(url), plain.start, (size_t)plain.start_length);
        memcpy(PyUnicode_1BYTE_DATA(url) + plain.start_length, plain.rest, (size_t)rest);
        return url;
    }
    PyObject *text = value_of(page, from, to);
    if (!text) return NULL;
    url = PyObject_CallOneArg(page->join, text);
    Py_DECREF(text);
    return url;
}

/* Does a relation forbid to follow? */
static int forbids(at from, at to) {
    for (; to - from >= 8; from++)
        if (is_named(from, 8, "nofollow")) return 1;
    return 0;
}

/* 0, or -1 for unsure or an error. */
static int keep_anchor(Page *page, Attribute *href, Attribute *rel) {
    if (rel->name && find(rel->value, rel->value_end, '&')) return page->unsure = 1, -1; /* who would do that? */
    PyObject *url = url_of(page, href->value, href->value_end);
    if (!url) return -1;
    int failed = 0;
    if (url != Py_None) {
        if (rel->name && forbids(rel->value, rel->value_end))
            failed = !PyDict_SetDefault(page->found, url, Py_False);
        else
            failed = PyDict_SetItem(page->found, url, Py_True);
    }
    Py_DECREF(url);
    return failed ? -1 : 0;
}

static at read_anchor(Page *page, at p) {
    Attribute one, href = {0}, rel = {0};
    do {
        p = next_attribute(p, page->end, &one);
        if (p == NOWHERE) return NOWHERE;
        if (!one.name) break;
        Py_ssize_t length = one.name_end - one.name;
        if (!href.name && is_named(one.name, length, "href")) href = one;
        else if (!rel.name && is_named(one.name, length, "rel")) rel = one;
    } while (1);
    if (href.name && keep_anchor(page, &href, &rel)) return NOWHERE;
    return p;
}

/* The name of an attribute that somebody asks for, borrowed; or NULL. */
static PyObject *asked_for(at name, Py_ssize_t length) {
    for (int i = 0; i < ATTRIBUTES; i++)
        if (is_named(name, length, attribute_words[i])) return attribute_names[i];
    return NULL;
}

/* Hand a tag over; behind it, or NOWHERE. */
static at read_tag(Page *page, at p, int which) {
    PyObject *attributes = PyDict_New();
    if (!attributes) return NOWHERE;
    Attribute one;
    do {
        p = next_attribute(p, page->end, &one);
        if (p == NOWHERE || !one.name) break;
        PyObject *name = asked_for(one.name, one.name_end - one.name);
        if (!name || PyDict_Contains(attributes, name)) continue; /* the first one counts */
        PyObject *value = value_of(page, one.value, one.value_end);
        int failed = !value || PyDict_SetItem(attributes, name, value);
        Py_XDECREF(value);
        if (failed) p = NOWHERE;
    } while (p != NOWHERE);
    if (p != NOWHERE) {
        PyObject *tag = PyTuple_Pack(2, names[which], attributes);
        if (!tag || PyList_Append(page->tags, tag)) p = NOWHERE;
        Py_XDECREF(tag);
    }
    Py_DECREF(attributes);
    return p;
}

/* Where the text of an element ends: at its end tag, or with the page. */
static at text_end(at p, at end, const char *name) {
    Py_ssize_t length = (Py_ssize_t)strlen(name);
    for (; (p = find(p, end, '<')); p++) {
        if (end - p < length + 3) break;
        if (p[1] == '/' && is_named(p + 2, length, name)) {
            unsigned char behind = p[2 + length];
            if (is[behind] & SPACE || behind == '/' || behind == '>') return p;
        }
    }
    return end;
}

/* Is there a comment with a script in it? Such a script goes on behind its end tag. */
static int is_escaped(at p, at end) {
    int commented = 0;
    for (; (p = find(p, end, '<')); p++) {
        if (end - p >= 4 && !memcmp(p, "<!--", 4)) commented = 1;
        else if (commented && end - p >= 7 && is_named(p + 1, 6, "script")) return 1;
    }
    return 0;
}

static at comment_end(at p, at end) { /* `p` is behind <!-- */
    if (p < end && *p == '>') return p + 1;
    if (end - p >= 2 && p[0] == '-' && p[1] == '>') return p + 2;
    for (; (p = find(p, end, '-')); p++) {
        if (end - p < 3) break;
        if (p[1] != '-') continue;
        if (p[2] == '>') return p + 3;
        if (p[2] == '!' && end - p >= 4 && p[3] == '>') return p + 4;
    }
    return NOWHERE;
}

static at behind_bracket(at p, at end) {
    at bracket = find(p, end, '>');
    return bracket ? bracket + 1 : NOWHERE;
}

static at name_end(at p, at end) {
    while (p < end && !(is[*p] & SPACE) && *p != '/' && *p != '>') p++;
    return p;
}

/* Is what begins here put before the table that it is in? Then the page has another order than its tags. */
static int is_moved(const Page *page) {
    return page->tables && !page->in_cell;
}

/* Begin a table or a part of one. */
static void begin(Page *page, enum kind kind) {
    if (kind == TABLE) {
        if (is_moved(page)) page->unsure = 1; /* it would end the other */
        page->tables++;
    }
    page->in_cell = kind == CELL;
}

/* Some of these end tags are ignored where they stand: then we take for outside what is in a cell, never
   the other way round. */
static void end_part(Page *page, enum kind kind) {
    if (kind == TABLE && page->tables) page->tables--, page->in_cell = 1;
    else if (kind == CELL || kind == ROW) page->in_cell = 0;
}

static at read_end_tag(Page *page, at name) {
    at p = name_end(name, page->end);
    int which;
    at behind = skip_attributes(p, page->end);
    if (behind != NOWHERE) end_part(page, kind_of(name, p - name, &which));
    return behind;
}

/* Keep what stands between two tags of the body; white space in the head does not count. */
static void keep_text(Page *page, at from, at to) {
    if (!page->texts || from >= to || PyList_GET_SIZE(page->texts) >= TEXTS_LIMIT) return;
    if (!page->in_body && skip_space(from, to) == to) return;
    page->in_body = 1;
    PyObject *text = PyUnicode_DecodeUTF8((const char *)from, to - from, "replace");
    if (text) PyList_Append(page->texts, text);
    Py_XDECREF(text);
}

/* Is the next tag the end tag of the element named so? */
static int is_closed_next(at p, at end, at name, at name_end) {
    Py_ssize_t length = name_end - name;
    p = find(p, end, '<');
    return p && end - p > length + 2 && p[1] == '/' && !memcmp(p + 2, name, (size_t)length) && p[2 + length] == '>';
}

/* Behind an element whose tags are all of the names in `inside`, each between two blanks: what a drawing or a choice
   has in it, and nothing that could become part of the page. NOWHERE, and unsure, for any other. */
static at skip_simple(Page *page, at p, const char *name, const char *inside) {
    for (at text = p; (p = find(p, page->end, '<')); text = p) {
        keep_text(page, text, p);
        int is_end = page->end - p > 2 && p[1] == '/';
        at from = p + 1 + is_end, to = name_end(from, page->end);
        char word[18] = " ";
        if (to >= page->end || to - from > 15 || !(is[*from] & LETTER)) break;
        for (Py_ssize_t i = 0; i < to - from; i++) word[i + 1] = (char)(is[from[i]] & LETTER ? from[i] | 32 : from[i]);
        word[to - from + 1] = 0;
        p = skip_attributes(to, page->end);
        if (p == NOWHERE) return NOWHERE; /* the page ends in a tag: whatever it was, it is none */
        if (is_end && !strcmp(word + 1, name)) return p;
        strcat(word, " ");
        if (!strstr(inside, word)) break;
        /* What is in the title of a drawing is HTML again: a text, or too much for us. */
        if (!is_end && (!strcmp(word, " title ") || !strcmp(word, " desc ")) && !is_closed_next(p, page->end, from, to)) break;
    }
    return page->unsure = 1, NOWHERE;
}

/* Behind a drawing whose start tag goes on at `p`; if that ends in `/>` it is the whole of it. */
static at skip_drawing(Page *page, at p) {
    at start = skip_attributes(p, page->end);
    if (start == NOWHERE || is_moved(page)) return page->unsure = start != NOWHERE, NOWHERE;
    if (start[-2] == '/') return page->unsure = 1, NOWHERE; /* or an unquoted value that ends so */
    return skip_simple(page, start, "svg",
                       " path g circle rect line polyline polygon ellipse use defs symbol stop text tspan"
                       " lineargradient radialgradient clippath mask animate title desc ");
}

static at read_start_tag(Page *page, at name) {
    at p = name_end(name, page->end);
    if (p >= page->end) return NOWHERE;
    int which = 0;
    enum kind kind = kind_of(name, p - name, &which);
    char text[16] = "";
    at start;
    if (is_moved(page) && (kind == ANCHOR || kind == TAG || kind == FRAME || kind == TITLE))
        return page->unsure = 1, NOWHERE;
    if (kind == OBJECT && page->tables) return page->unsure = 1, NOWHERE;
    if (kind != TAG || which == AREA_NAME) page->in_body |= kind != HEAD && kind != STYLE && kind != SCRIPT && kind != TITLE;
    switch (kind) {
    case TABLE:
    case CELL:
    case ROW: begin(page, kind); /* fall through */
    case HEAD:
    case OBJECT:
    case OTHER:
        page->opened++;
        return *p == '>' ? p + 1 : skip_attributes(p, page->end);
    case ANCHOR:
        page->opened++;
        return read_anchor(page, p);
    case DRAWING: return skip_drawing(page, p);
    case CHOICE:
        p = skip_attributes(p, page->end);
        if (p == NOWHERE || is_moved(page)) return page->unsure = p != NOWHERE, NOWHERE;
        return skip_simple(page, p, "select", " option optgroup ");
    case TAG: return read_tag(page, p, which);
    case BASE:
    case UNSURE: page->unsure = 1; return NOWHERE;
    case FRAME:
    case TEXT:
    case STYLE:
    case SCRIPT:
    case TITLE: break;
    }
    for (Py_ssize_t i = 0; i < p - name; i++) text[i] = (char)(name[i] | 32);
    start = kind == FRAME ? read_tag(page, p, which) : skip_attributes(p, page->end);
    if (start == NOWHERE) return NOWHERE;
    p = text_end(start, page->end, text);
    if (kind == SCRIPT && is_escaped(start, p)) page->unsure = 1;
    if (kind == TITLE && !page->title) {
        if (page->opened > DEEP) page->unsure = 1;
        page->title = PyUnicode_DecodeUTF8((const char *)start, p - start, "replace");
    }
    if (kind == TEXT || kind == FRAME || (kind == TITLE && page->in_body)) keep_text(page, start, p);
    return page->unsure || PyErr_Occurred() ? NOWHERE : p;
}

/* Behind the tag or comment that a `<` begins, or NOWHERE. */
static at read_bracket(Page *page, at p) {
    unsigned char next = p[1];
    if (is[next] & LETTER) return read_start_tag(page, p + 1);
    if (next == '/' && page->end - p < 3) return NOWHERE;
    if (next == '/' && is[p[2]] & LETTER) return read_end_tag(page, p + 2);
    if (next == '!' && page->end - p >= 4 && p[2] == '-' && p[3] == '-') return comment_end(p + 4, page->end);
    return behind_bracket(p + 2, page->end); /* </>, <!doctype>, <?xml> */
}

/* Walk from tag to tag. */
static void walk(Page *page, at p) {
    at text = p; /* where it began */
    while ((p = find(p, page->end, '<')) && page->end - p >= 2) {
        if (!(is[p[1]] & LETTER) && p[1] != '/' && p[1] != '!' && p[1] != '?') {
            p++; /* a text with a `<` in it */
            continue;
        }
        keep_text(page, text, p);
        text = p = read_bracket(page, p);
        if (p == NOWHERE) return;
    }
    keep_text(page, text, page->end);
}

static PyObject *scan(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    (void)module;
    if (count != 6 || !PyBytes_CheckExact(args[0]) || !PyUnicode_Check(args[1]) || !PyUnicode_Check(args[2]) ||
        (args[5] != Py_None && !PyList_CheckExact(args[5]))) {
        PyErr_SetString(PyExc_TypeError, "scan takes bytes, server, directory, two functions and a list or None");
        return NULL;
    }
    at start = (at)PyBytes_AS_STRING(args[0]);
    Page page = {.end = start + PyBytes_GET_SIZE(args[0]), .join = args[3], .resolve = args[4]};
    page.texts = args[5] != Py_None ? args[5] : NULL;
    page.base.server = PyUnicode_AsUTF8AndSize(args[1], &page.base.server_length);
    page.base.directory = PyUnicode_AsUTF8AndSize(args[2], &page.base.directory_length);
    if (!page.base.server || !page.base.directory) return NULL;
    if (find(start, page.end, 0) || !PyUnicode_IS_ASCII(args[1]) || !PyUnicode_IS_ASCII(args[2])) Py_RETURN_NONE;
    PyObject *result = NULL;
    page.found = PyDict_New();
    page.tags = PyList_New(0);
    if (page.found && page.tags) walk(&page, start);
    if (PyErr_Occurred()) goto end;
    if (page.unsure) result = Py_NewRef(Py_None);
    else result = PyTuple_Pack(3, page.found, page.tags, page.title ? page.title : Py_None);
end:
    PyMem_Free(page.room);
    Py_XDECREF(page.found);
    Py_XDECREF(page.tags);
    Py_XDECREF(page.title);
    return result;
}

static PyMethodDef methods[] = {
    {"scan", (PyCFunction)(void (*)(void))scan, METH_FASTCALL, "The links of a page; None if only a tree can tell."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "scan", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_scan(void) {
    sort_bytes();
    for (int i = 0; i < NAMES; i++)
        if (!(names[i] = PyUnicode_InternFromString(words[i]))) return NULL;
    for (int i = 0; i < ATTRIBUTES; i++)
        if (!(attribute_names[i] = PyUnicode_InternFromString(attribute_words[i]))) return NULL;
    return PyModule_Create(&definition);
}

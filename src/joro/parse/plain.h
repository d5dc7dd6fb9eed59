/* Which references need no URL parser?

   In:    a reference as written, and the canonical base it is relative to.
   Out:   what stands before it in its URL, and how much of it follows there.
   Never: says so of one that any parser would spell in another way: they are the letters, digits and marks that are
          never escaped, a host in lower case, and no dots to resolve but at the beginning.

   `url._PLAIN_REF` is the same in Python, for a little less. */

#include <string.h>

typedef const unsigned char *at; /* a place in a page */

/* What a byte may be. */
enum { SPACE = 1, LETTER = 2, PLAIN = 4, DIGIT = 8, LOWER = 16 };
static unsigned char is[256];

static void sort_bytes(void) {
    for (const char *c = "\t\n\f\r "; *c; c++) is[(unsigned char)*c] |= SPACE;
    for (int c = 'a'; c <= 'z'; c++) is[c] |= LETTER | LOWER | PLAIN, is[c - 32] |= LETTER | PLAIN;
    for (int c = '0'; c <= '9'; c++) is[c] |= DIGIT | PLAIN;
    for (const char *c = "_~!$&()*+,;=:./-"; *c; c++) is[(unsigned char)*c] |= PLAIN;
}

/* "http://host" and "http://host/some/": no slash behind the one, one behind the other. */
typedef struct {
    const char *server, *directory;
    Py_ssize_t server_length, directory_length;
} Base;

typedef struct {
    const char *start;
    Py_ssize_t start_length;
    at rest;
} Plain;

/* Has it only bytes that stay as they are, a query of some length if any, and no segment that begins with a dot? */
static int is_unescaped(at ref, at end) {
    int in_query = 0;
    for (at p = ref; p < end; p++) {
        if (!(is[*p] & PLAIN)) {
            if (*p != '?' || (!in_query && p + 1 == end)) return 0;
            in_query = 1;
        }
        if (*p == '.' && (p == ref || p[-1] == '/')) return 0;
    }
    return 1;
}

/* Is it http(s)://host.top/… with a host of the usual kind? */
static int is_absolute(at ref, at end) {
    if (end - ref < 8 || memcmp(ref, "http", 4)) return 0;
    at p = ref + 4 + (ref[4] == 's'), dot = NULL;
    if (memcmp(p, "://", 3)) return 0;
    at host = p += 3;
    for (; p < end && *p != '/'; p++) {
        if (is[*p] & (LOWER | DIGIT)) continue;
        if ((*p != '.' && *p != '-') || p == host || !(is[p[-1]] & (LOWER | DIGIT))) return 0;
        if (*p == '.') dot = p;
    }
    if (p == end || !dot || dot + 1 == p) return 0;
    while (++dot < p)
        if (!(is[*dot] & LOWER)) return 0;
    return 1;
}

/* Might what stands before the first colon be a scheme? */
static int may_have_scheme(at ref, at end) {
    for (; ref < end && *ref != '/' && *ref != '?'; ref++)
        if (*ref == ':') return 1;
    return 0;
}

/* How long the directory is that `./` and `../` at the beginning lead to; behind them is `*rest`. */
static Py_ssize_t climbed(const Base *base, at ref, at end, at *rest) {
    Py_ssize_t length = base->directory_length;
    for (;; ref += 2) {
        if (end - ref >= 3 && !memcmp(ref, "../", 3)) {
            if (length > base->server_length + 1)
                for (length--; base->directory[length - 1] != '/';) length--;
            ref++;
        } else if (end - ref < 2 || memcmp(ref, "./", 2)) {
            break;
        }
    }
    *rest = ref;
    return length;
}

static int is_plain(const Base *base, at ref, at end, Plain *plain) {
    plain->rest = ref;
    if (*ref == '/') {
        plain->start = base->server, plain->start_length = base->server_length;
        return !(end - ref > 1 && ref[1] == '/') && is_unescaped(ref + 1, end);
    }
    if (is_absolute(ref, end)) {
        plain->start = "", plain->start_length = 0;
        return is_unescaped(ref, end);
    }
    plain->start = base->directory;
    plain->start_length = climbed(base, ref, end, &plain->rest);
    if (plain->rest == end) return plain->rest != ref;
    return *plain->rest != '/' && *plain->rest != '?' && is_unescaped(plain->rest, end) && !may_have_scheme(plain->rest, end);
}

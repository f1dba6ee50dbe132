"""The HTML twin of the problem answers: the only place where a page's error becomes an HTTP status."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import get_template
from django.utils.deprecation import MiddlewareMixin
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.kernel import errors

StrOrPromise = str | Promise


@dataclass(frozen=True)
class Page:
    """What an error page says. `text` is used where the error brings no sentence of its own."""

    status: int
    heading: StrOrPromise
    text: StrOrPromise


BAD_REQUEST = Page(
    400,
    gettext_lazy("This request could not be read"),
    gettext_lazy("The address or the form was incomplete. Go back, reload the page and try once more."),
)
DENIED = Page(
    403,
    gettext_lazy("You may see this, but not do that"),
    gettext_lazy("Your role in the team does not include it. A manager of the team can change your role."),
)
NOT_FOUND = Page(
    404,
    gettext_lazy("There is nothing here for you"),
    gettext_lazy("The address is wrong, the thing was deleted, or it belongs to a team you are not in."),
)
CONFLICT = Page(
    409,
    gettext_lazy("That does not fit the present state"),
    gettext_lazy("It changed in the meantime. Look at it again and repeat what you wanted."),
)
TOO_MANY = Page(
    429, gettext_lazy("Too many attempts"), gettext_lazy("Wait a little and try again; nothing was changed.")
)
UNAVAILABLE = Page(
    503,
    gettext_lazy("Something behind Turno does not answer"),
    gettext_lazy("Running work goes on. Try again in a moment."),
)
EXPIRED_FORM = Page(
    403,
    gettext_lazy("This form is no longer valid"),
    gettext_lazy(
        "It was open for too long, or you signed in again elsewhere. Go back, reload the page and send it again."
    ),
)

PAGES: tuple[tuple[type[errors.PortalError], Page], ...] = (
    (errors.BadRequest, BAD_REQUEST),
    (errors.Invalid, Page(422, gettext_lazy("Something in the form cannot be accepted"), BAD_REQUEST.text)),
    (errors.Denied, DENIED),
    (errors.NotFound, NOT_FOUND),
    (errors.Conflict, CONFLICT),
    (errors.PreconditionFailed, Page(412, CONFLICT.heading, CONFLICT.text)),
    (errors.TooMany, TOO_MANY),
    (errors.Unavailable, UNAVAILABLE),
)


def show(request: HttpRequest, page: Page, message: str = "") -> HttpResponse:
    """One error as a page, in the reader's language."""
    context = {
        "status": page.status,
        "heading": page.heading,
        "text": message or page.text,
        "request_id": getattr(request, "request_id", ""),
        "back_label": _("To the start page"),
    }
    return render(request, "shell/error.html", context, status=page.status)


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    """The sign-in page, which leads back; a poll of a page is told to load it whole."""
    if request.headers.get("HX-Request"):
        answer = HttpResponse(status=204)
        answer["HX-Refresh"] = "true"
        return answer
    wanted = request.get_full_path() if request.method == "GET" else "/"
    return redirect(f"/login/?{urlencode({'next': wanted})}")


class PageErrorMiddleware(MiddlewareMixin):
    """Turns what views raise into pages. The API has its own answers and is left alone."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, errors.PortalError) or request.path.startswith("/api/"):
            return None
        if isinstance(exception, errors.Unauthenticated):
            return _to_sign_in(request)
        for kind, page in PAGES:
            if isinstance(exception, kind):
                # A 404 never repeats the error's own words: missing and hidden things look the same.
                message = "" if kind is errors.NotFound else str(exception.message)
                response = show(request, page, message)
                if isinstance(exception, errors.TooMany | errors.Unavailable):
                    response["Retry-After"] = str(exception.retry_after)
                return response
        return None


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """`handler400` for pages."""
    return show(request, BAD_REQUEST)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """`handler403` for pages."""
    return show(request, DENIED)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """`handler404` for pages."""
    return show(request, NOT_FOUND)


def server_error(request: HttpRequest) -> HttpResponse:
    """`handler500` for pages: needs no database, no session and no language, since any of them may be what broke."""
    return HttpResponse(get_template("500.html").render(), status=500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """`CSRF_FAILURE_VIEW`: an old form, said in words."""
    return show(request, EXPIRED_FORM)

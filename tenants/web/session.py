"""Signing in and out, and the password."""

from __future__ import annotations

from django.contrib import auth, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from portal.kernel.actors import Person
from portal.kernel.errors import Invalid, TooMany
from portal.kernel.lookups import is_askable
from tenants import services
from tenants.web.visitor import person, way_back

PASSWORD_FIELDS = {"old": "old", "again": "again", "password": "new"}


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def login(request: HttpRequest) -> HttpResponse:
    """The sign-in page. Attempts are counted per name and address; a wrong name and a wrong password look the same."""
    back = way_back(request, request.POST or request.GET)
    if isinstance(getattr(request, "actor", None), Person) and request.method == "GET":
        return redirect(back)
    context = {"next": back, "username": request.POST.get("username", "")}
    if request.method == "GET":
        return render(request, "tenants/login.html", context)
    try:
        services.count_sign_in(username=context["username"], address=request.META.get("REMOTE_ADDR", ""))
    except TooMany as refusal:
        answer = render(request, "tenants/login.html", {**context, "problem": refusal.message}, status=429)
        answer["Retry-After"] = str(refusal.retry_after)
        return answer
    user = None
    if is_askable(context["username"]):
        user = auth.authenticate(request, username=context["username"], password=request.POST.get("password", ""))
    if user is None:
        problem = _("The username or the password is wrong.")
        return render(request, "tenants/login.html", {**context, "problem": problem}, status=422)
    auth.login(request, user)
    return redirect(back)


@require_POST
def logout(request: HttpRequest) -> HttpResponse:
    """Ends this session."""
    auth.logout(request)
    return redirect("/login/")


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """Changes the person's own password; this session goes on, the others end."""
    actor = person(request)
    if request.method == "GET":
        return render(request, "tenants/password.html")
    new = request.POST.get("new", "")
    try:
        if not request.user.check_password(request.POST.get("old", "")):
            raise Invalid.field("old", _("This is not your present password."))
        if new != request.POST.get("again", ""):
            raise Invalid.field("again", _("The two do not match."))
        services.change_password(actor, password=new)
    except Invalid as refusal:
        errors = {PASSWORD_FIELDS[error.field]: error.message for error in refusal.errors}
        return render(request, "tenants/password.html", {"errors": errors}, status=422)
    user = auth.get_user_model().objects.get(pk=actor.id)
    auth.update_session_auth_hash(request, user)
    messages.success(request, _("Your password is changed."))
    return redirect("/")

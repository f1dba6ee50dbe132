# One image for every process of Turno; docker-compose.yml says which process a container is.
FROM python:3.13-slim-bookworm AS build
WORKDIR /srv/turno
COPY requirements/base.txt requirements/base.txt
RUN python -m venv /opt/turno \
 && /opt/turno/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements/base.txt

FROM python:3.13-slim-bookworm
ENV PATH=/opt/turno/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_SETTINGS_MODULE=portal.settings
RUN groupadd --gid 10001 turno \
 && useradd --uid 10001 --gid turno --no-create-home --home-dir /srv/turno --shell /usr/sbin/nologin turno \
 && install -d -o turno -g turno /srv/turno /var/lib/turno
WORKDIR /srv/turno
COPY --from=build /opt/turno /opt/turno
COPY manage.py ./
COPY portal portal
COPY tenants tenants
COPY quotas quotas
COPY jobs jobs
COPY templates templates
COPY static static
COPY locale locale
# Bytecode and static files are made here, while the files still belong to root: at run time nothing is written.
RUN PYTHONDONTWRITEBYTECODE= python -m compileall -q portal tenants quotas jobs \
 && TURNO_SECRET_KEY=only-to-collect-static-files TURNO_STATIC_ROOT=/srv/turno/static-collected \
    python manage.py collectstatic --no-input -v0
ENV TURNO_STATIC_ROOT=/srv/turno/static-collected \
    TURNO_BEAT_FILE=/var/lib/turno/beat
USER 10001:10001
EXPOSE 8000
CMD ["uvicorn", "portal.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--no-access-log"]

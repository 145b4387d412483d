"""Stores the questions as Iceberg views in the catalog, where Trino finds them.

An Iceberg view is SQL of one dialect, `trino` here, with the columns of its answer. Engines that read another dialect
do not see it, and the embedded engine needs none of this.
"""

from collections.abc import Callable
from typing import Literal

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchViewError, RESTError
from pyiceberg.view.metadata import SQLViewRepresentation, ViewRepresentation, ViewVersion
from requests.exceptions import RequestException

from frazil.clients.catalog import connect
from frazil.environment.settings import Settings
from frazil.errors import ServiceUnavailable, TerminalError
from frazil.minio.questions.bind import statement
from frazil.minio.questions.catalog import VIEWS
from frazil.minio.questions.question import Question
from frazil.minio.questions.views import view_schema

Outcome = Literal["created", "exists", "updated"]

_DIALECT = "trino"


def publish_views(settings: Settings, report: Callable[[str, Outcome], None]) -> None:
    """Store a view of each question in the namespace of the log tables; one that is the same already is left alone.

    `report` hears the name and what was done, once it is done; the call may be repeated. Raises ServiceUnavailable
    when the catalog does not answer, TerminalError when it refuses a view.
    """
    # The catalogs in question know views without saying so.
    catalog = connect({**settings.catalog_properties(), "view-endpoints-supported": "true"})
    for name, question in VIEWS.items():
        try:
            report(name, _publish(catalog, settings, question))
        except RequestException as error:
            raise ServiceUnavailable(
                f"the catalog at {settings.catalog_uri} does not answer ({type(error).__name__}); views before {name} "
                "are stored. Check that it runs, then try again"
            ) from error
        except RESTError as error:
            raise TerminalError(
                f"the catalog at {settings.catalog_uri} refused the view {settings.namespace}.{name} ({error}); views "
                "before it are stored. Where a catalog stores no views, use the statement that `ask --sql` prints"
            ) from error


def _publish(catalog: Catalog, settings: Settings, question: Question) -> Outcome:
    identifier = (settings.namespace, question.view)
    sql = statement(question, {}, (settings.sql_catalog, settings.namespace))
    found = _stored(catalog, identifier)
    if found == sql:
        return "exists"
    if found is not None:
        catalog.drop_view(identifier)
    representation = ViewRepresentation(SQLViewRepresentation(type="sql", sql=sql, dialect=_DIALECT))
    version = ViewVersion.model_validate(
        {
            "schema-id": 0,
            "representations": [representation],
            "default-catalog": settings.sql_catalog,
            "default-namespace": (settings.namespace,),
            "summary": {"engine-name": "frazil"},
        }
    )
    catalog.create_view(identifier, view_schema(question), version, properties={"comment": question.title})
    return "created" if found is None else "updated"


def _stored(catalog: Catalog, identifier: tuple[str, str]) -> str | None:
    """The statement of a view, empty when it has none for Trino; None when there is no view."""
    try:
        view = catalog.load_view(identifier)
    except NoSuchViewError:
        return None
    stored = view.sql_for(_DIALECT)
    return stored.sql if stored else ""

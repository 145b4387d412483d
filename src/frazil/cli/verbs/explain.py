"""The verb `explain`: what Spark does for the statement of a connector."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from frazil.cli.ui.console import make_console
from frazil.cli.ui.env_file import EnvFileOption, variables_of
from frazil.cli.ui.output import Output, OutputOption, as_text
from frazil.cli.ui.program import verb
from frazil.cli.ui.progress import progress
from frazil.connectors.documents import read_documents
from frazil.environment.settings import Settings


@verb("explain sales.json", "explain sales.json -o json")
def explain(
    file: Annotated[str, typer.Argument(help="SQL connectors in JSON or YAML, as for `apply`; - is standard input.")],
    env_file: EnvFileOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show Spark's plan of the statement of a connector.

    A Spark is started and stopped again; Kafka is not asked, and the catalog only for tables that the statement joins.
    Shown are the columns of the rows and Spark's physical plan. What Spark refuses is told with its line and column.
    """
    from frazil.connectors.connector import open_connector
    from frazil.engine.on_demand import spark_on_demand

    settings = Settings.load()
    documents = read_documents([file], sys.stdin, variables=variables_of(env_file))
    plans = {}
    with progress(make_console(stderr=True)) as say, spark_on_demand(settings, "explain") as on_spark:
        for document in documents:
            connector = open_connector(document.name, document.config, settings, settings.providers())
            with connector.hiding() as sink:
                plans[document.name] = sink.explain(say, on_spark)
    if output is not Output.TABLE:
        bodies = [{"name": name, "columns": plan.columns, "plan": plan.steps} for name, plan in plans.items()]
        typer.echo(as_text(bodies[0] if len(bodies) == 1 else bodies, output))
        return
    for name, plan in plans.items():
        typer.echo(f"{name}: {', '.join(f'{column} {type_}' for column, type_ in plan.columns.items())}\n")
        typer.echo(plan.steps)
